// TLS 1.3 with a shared key as a pure state machine: bytes in, bytes out, no sockets.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/join/join_key.h"

struct bio_st;
struct ssl_st;

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
  TlsSession(const TlsSession&) = delete;  // OpenSSL refers to key_
  TlsSession& operator=(const TlsSession&) = delete;

  /// Decrypts bytes from the wire and appends the plaintext to `plain`.
  void receive(std::span<const std::byte> wire, Bytes& plain);
  /// Encrypts bytes; keeps them until the handshake is done.
  void send(std::span<const std::byte> plain);
  /// Returns the bytes to send over the wire now.
  Bytes take_wire();
  /// Puts these bytes at the beginning of `into`, which only grows, and returns their number. A
  /// caller that keeps the buffer pays for no allocation and no zeros.
  std::size_t take_wire(Bytes& into);
  [[nodiscard]] bool established() const { return established_; }
  /// Returns whether the peer has sent its close alert: no byte is missing.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Returns why the session has failed, for messages; also for a wrong key.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  /// Sends the close alert after all pending bytes.
  void close();

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  void shake();
  void check(int result);
  void write(std::span<const std::byte> plain);

  JoinKey key_;
  std::unique_ptr<ssl_st, Free> ssl_;
  bio_st* in_;   // of ssl_
  bio_st* out_;  // of ssl_
  Bytes waiting_;
  bool established_ = false;
  bool ended_ = false;
  bool closing_ = false;
  std::optional<std::string> problem_;
};

}  // namespace ds::launcher
