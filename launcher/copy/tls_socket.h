// A TCP connection with TLS, for threads that may block, with a deadline for each wait.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/join/tls_session.h"

namespace ds::launcher::copy {

/// Threads: one.   Errors: as texts; empty if all went well.
class TlsSocket {
 public:
  /// How long the other side may take to connect and prove the key.
  static constexpr std::chrono::seconds kOpenLimit{10};
  /// How long the other side may take to read.
  static constexpr std::chrono::seconds kWriteLimit{60};

  TlsSocket(UniqueFd socket, TlsSession::Side side, const JoinKey& key)
      : socket_(std::move(socket)), session_(side, key) {}
  std::string shake_hands();
  std::string send(std::span<const std::byte> bytes);
  /// Adds to an empty `plain` what has arrived, after waiting up to `limit` for it or for `wake` to
  /// be readable. An ended connection is an error.
  std::string receive(Bytes& plain, std::chrono::milliseconds limit, int wake = -1);

 private:
  std::string write_out();
  UniqueFd socket_;
  TlsSession session_;
  Bytes early_;     // came before the first receive()
  Bytes in_, out_;  // buffers of recv and send, kept: new ones would be filled with zeros each time
};

/// Listens at a free port of a numeric address; returns an empty descriptor if it cannot.
UniqueFd listen_at(const std::string& address, std::uint16_t& port);
/// Connects within kOpenLimit; otherwise the descriptor is empty and `problem` says why.
UniqueFd connect_to(const std::string& address, std::uint16_t port, std::string& problem);

}  // namespace ds::launcher::copy
