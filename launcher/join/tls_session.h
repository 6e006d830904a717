// TLS 1.3 with a shared key as a pure state machine: bytes in, bytes out, no sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/join/join_key.h"

namespace ds::launcher {

using Bytes = std::vector<std::byte>;

/// One end of a connection between 2 peers that know the key: external PSK with ephemeral
/// Diffie-Hellman (RFC 8446 section 2.2, psk_dhe_ke), no certificates, no tickets, no early data.
/// Promise: `receive` returns no plaintext before the peer has proven the key.
/// Threads: one.   Errors: as a value, problem().
class TlsSession {
 public:
  enum class Side { root, joiner };
  TlsSession(Side side, const JoinKey& key);
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  /// Decrypts bytes from the wire and appends the plaintext to `plain`.
  void receive(std::span<const std::byte> wire, Bytes& plain);
  /// Encrypts bytes; keeps them until the handshake is done.
  void send(std::span<const std::byte> plain);
  /// Returns the bytes to send over the wire now.
  Bytes take_wire();
  [[nodiscard]] bool established() const;
  /// Returns whether the peer has sent its close alert: no byte is missing.
  [[nodiscard]] bool ended() const;
  /// Returns why the session has failed, for messages; also for a wrong key.
  [[nodiscard]] const std::optional<std::string>& problem() const;
  /// Sends the close alert after all pending bytes.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ds::launcher
