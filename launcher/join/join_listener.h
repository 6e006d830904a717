// Listening socket of a root: passes on each accepted connection.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

namespace ds::launcher {

/// Threads: the io_context's, which must not run once the listener is destroyed; `on_socket` never
/// comes from inside a call.
class JoinListener {
 public:
  /// `bind_address`: numeric; empty: all addresses, IPv4 and IPv6. A peer that leaves bytes
  /// unacknowledged for `dead_after` is lost (TCP_USER_TIMEOUT).
  /// Errors:  Error{system}: the port cannot be bound.
  JoinListener(asio::io_context& io, std::uint16_t port, const std::string& bind_address,
               std::chrono::milliseconds dead_after,
               std::function<void(asio::ip::tcp::socket)> on_socket);
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  asio::error_code bind(const asio::ip::tcp::endpoint& endpoint);
  void accept();

  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::chrono::milliseconds dead_after_;
  std::function<void(asio::ip::tcp::socket)> on_socket_;
};

}  // namespace ds::launcher
