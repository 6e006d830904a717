// TLS 1.3 by a shared key as a pure state machine: bytes in, bytes out, no sockets.
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

/// One end of a connection that only two who know the key can make: external PSK with ephemeral
/// Diffie-Hellman (RFC 8446 section 2.2, psk_dhe_ke), no certificates, no tickets, no early data.
/// Promise: nothing is given out by `read` before the other end has proven the key.
/// Threads: one.   Errors: as a value, problem().
class TlsSession {
 public:
  enum class Side { root, joiner };
  TlsSession(Side side, const JoinKey& key);
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;

  /// Takes bytes of the wire; what they decrypt to is appended to `plain`.
  void receive(std::span<const std::byte> wire, Bytes& plain);
  /// Encrypts; before the handshake is done it waits for its end.
  void send(std::span<const std::byte> plain);
  /// What is to go over the wire now.
  Bytes take_wire();
  [[nodiscard]] bool established() const;
  /// The other end has said goodbye: no byte is missing.
  [[nodiscard]] bool ended() const;
  /// Why nothing more will come, for people; of a wrong key too.
  [[nodiscard]] const std::optional<std::string>& problem() const;
  /// Says goodbye after all that was sent.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ds::launcher
