// The port of a root: binds it, and accepts connections as long as it exists.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace ds::launcher {

/// Threads: the io_context's, which must not run once the listener is destroyed.
class JoinListener {
 public:
  struct Place {
    std::string address;     // numeric; empty: all addresses, IPv4 and IPv6
    std::uint16_t port = 0;  // 0: any free port
  };

  /// Waits up to 10 s for a port that is taken, and tells `on_taken` once. It sleeps meanwhile: no
  /// node can be connected yet, and a signal ends the process at once.
  /// Errors:  Error{system}: the port cannot be bound; the message names the likely holder.
  JoinListener(asio::io_context& io, Place place,
               const std::function<void(const std::string&)>& on_taken,
               std::function<void(asio::ip::tcp::socket)> on_accepted);

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void listen(const std::function<void(const std::string&)>& on_taken);
  asio::error_code try_to_listen();
  asio::error_code listen_at(const asio::ip::tcp::endpoint& endpoint);
  void accept();

  Place place_;
  std::function<void(asio::ip::tcp::socket)> on_accepted_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
};

}  // namespace ds::launcher
