// Listening socket of a root: passes on each accepted connection.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ds::launcher {

/// Threads: the io_context's; `on_socket` never comes from inside a call or after destruction.
class JoinListener {
 public:
  /// `bind_address`: numeric; empty: all addresses, IPv4 and IPv6. A peer that leaves bytes
  /// unacknowledged for `dead_after` is lost (TCP_USER_TIMEOUT).
  /// Errors:  Error{system}: the port cannot be bound.
  JoinListener(asio::io_context& io, std::uint16_t port, const std::string& bind_address,
               std::chrono::milliseconds dead_after,
               std::function<void(asio::ip::tcp::socket)> on_socket);
  ~JoinListener();
  JoinListener(const JoinListener&) = delete;
  JoinListener& operator=(const JoinListener&) = delete;
  [[nodiscard]] std::uint16_t port() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ds::launcher
