// One TCP connection of a join: records over TLS, asynchronously. Both ends use it.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/join/join_records.h"
#include "launcher/join/tls_session.h"

namespace ds::launcher {

struct JoinConnectionEvents {
  std::function<void()> on_established;  // the other end has proven the key
  std::function<void(JoinRecord&)> on_record;
  std::function<void()> on_drained;  // all that was sent is with the system
  /// Once, last. `proven`: the key was, before.
  std::function<void(const std::string& why, bool proven)> on_end;
};

/// Threads: the io_context's; events never come from inside a call. Kept alive by its pending
/// waits; `abandon` silences it and closes the socket. Events stay as they are until it is
/// destroyed, so they must not own it.
class JoinConnection : public std::enable_shared_from_this<JoinConnection> {
 public:
  /// The handshake has this long.
  static constexpr std::chrono::seconds kHandshakeLimit{10};

  JoinConnection(asio::ip::tcp::socket socket, TlsSession::Side side, const JoinKey& key,
                 JoinConnectionEvents events);
  JoinConnection(const JoinConnection&) = delete;
  JoinConnection& operator=(const JoinConnection&) = delete;
  ~JoinConnection() = default;

  void start();
  void send(const JoinRecord& record);
  /// The same for long runs of bytes, cut into records.
  void send_bytes(std::uint32_t session, std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  void pause_reading(bool pause);
  /// Sends what waits, says goodbye, and ends when the other side is done.
  void close();
  void abandon();

  [[nodiscard]] Clock::time_point last_heard() const { return last_heard_; }
  [[nodiscard]] Clock::time_point last_sent() const { return last_sent_; }
  [[nodiscard]] bool established() const { return tls_.established(); }
  [[nodiscard]] const std::string& peer_address() const { return peer_; }
  [[nodiscard]] bool is_open() const { return !ended_; }

 private:
  void read();
  void take_bytes(asio::error_code error);
  void take_records();
  void flush();
  void end(const std::string& why);

  asio::ip::tcp::socket socket_;
  TlsSession tls_;
  JoinConnectionEvents events_;
  JoinDecoder decoder_;
  asio::steady_timer handshake_;
  std::string peer_;
  Bytes writing_;
  std::size_t unsent_ = 0;
  Clock::time_point last_heard_;
  Clock::time_point last_sent_;
  bool told_established_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool writing_now_ = false;
  bool closing_ = false;
  bool shut_ = false;
  bool ended_ = false;
};

}  // namespace ds::launcher
