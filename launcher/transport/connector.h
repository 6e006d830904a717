// Connects to the first of several addresses that answers; a further address is tried every 0.25 s.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct Connected {
  UniqueFd socket;      // non-blocking, close-on-exec; empty if no address could be reached
  std::string address;  // of the other end
  std::string problem;  // without a socket: the reasons, one for each address or one for all
  bool transient = false;
};

struct ConnectOptions {
  std::chrono::milliseconds limit{10000};
  std::chrono::milliseconds spent{0};           // part of `limit` that has passed, in the lookup
  std::chrono::milliseconds dead_after{10000};  // TCP_USER_TIMEOUT once connected; 0: no limit
  bool keep_alive = true;      // sends probes, so that dead_after holds for an idle connection
  std::string bind_address;    // numeric; empty: bind_interface
  std::string bind_interface;  // one of its addresses; empty: any
};

/// A connection attempt under way. Destroying it stops it and silences `done`.
class ConnectAttempt {
 public:
  virtual ~ConnectAttempt() = default;
};

/// Threads: the io_context's; `done` comes once, never from inside the call.
std::unique_ptr<ConnectAttempt> connect_any(asio::io_context& io,
                                            std::vector<asio::ip::tcp::endpoint> addresses,
                                            ConnectOptions options,
                                            std::function<void(Connected)> done);

/// Returns the address as text, `10.0.0.1` or `fd00::1`.
std::string address_text(const asio::ip::tcp::endpoint& endpoint);

}  // namespace ds::launcher
