// Addresses -> one connected socket: tries them in turn, the next a quarter of a second after the
// last, first wins.
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
  UniqueFd
      socket;  // non-blocking, close-on-exec, no delay, keep-alive; empty if none could be reached
  std::string address;  // of the other end
  std::string problem;  // without a socket: the reason of each address, or of all
  bool transient = false;
};

struct ConnectOptions {
  std::chrono::milliseconds limit{10000};
  std::chrono::milliseconds dead_after{10000};  // TCP_USER_TIMEOUT: a peer silent so long is lost
  bool keep_alive = true;                       // probes, so that this counts on an idle line too
  std::string bind_address;                     // numeric; or else
  std::string bind_interface;                   // one of its addresses
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

/// Readable name of an address, `10.0.0.1` or `fd00::1`.
std::string address_text(const asio::ip::tcp::endpoint& endpoint);

}  // namespace ds::launcher
