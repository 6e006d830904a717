// One TCP connection of a join: asynchronous records over TLS. Root and joiner use it.
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

class JoinConnection;
struct JoinConnectionEvents {
  std::function<void()> on_established;  // the peer has proven the key
  std::function<void(const std::shared_ptr<JoinConnection>&, JoinRecord&)> on_record;
  /// Comes once, last. `proven`: the peer had proven the key before.
  std::function<void(const std::shared_ptr<JoinConnection>&, const std::string& why, bool proven)>
      on_end;
};

/// Threads: the io_context's; events never come from inside a call. Pending waits keep the
///          connection alive; `abandon` ends all events and closes the socket. Events are kept
///          until it is destroyed, so they must not own it.
class JoinConnection : public std::enable_shared_from_this<JoinConnection> {
 public:
  /// Time limit of the handshake.
  static constexpr std::chrono::seconds kHandshakeLimit{10};

  JoinConnection(asio::ip::tcp::socket socket, TlsSession::Side side, const JoinKey& key,
                 JoinConnectionEvents events);

  void start();
  /// AgentBytes may have any length: they are cut.
  void send(const JoinRecord& record);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  /// Sends pending bytes and the TLS close alert, and ends when the peer has ended.
  void close();
  void abandon();

  [[nodiscard]] Clock::time_point last_heard() const { return last_heard_; }
  [[nodiscard]] Clock::time_point last_sent() const { return last_sent_; }
  [[nodiscard]] bool established() const { return tls_.established(); }
  [[nodiscard]] const std::string& peer_address() const { return peer_; }

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
  bool writing_now_ = false;
  bool closing_ = false;
  bool shut_ = false;
  bool ended_ = false;
};

}  // namespace ds::launcher
