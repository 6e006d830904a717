// Connections to one jump host, shared by all targets behind it. Another one is opened when the
// server allows no further channel on the first.
#pragma once

#include <asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launcher/transport/ssh/ssh_attempts.h"

namespace ds::launcher {

/// A request for a socket to host:port. An empty `done` means that it was canceled.
struct JumpRequest {
  explicit JumpRequest(asio::io_context& io) : timer(io) {}
  std::string host;
  int port = 22;
  std::chrono::milliseconds limit{};  // of the jump host's connect
  std::function<void(Reached)> done;
  asio::steady_timer timer;
};

class JumpHost {
 public:
  /// The last of `jumps` is this host, the others lead to it.
  JumpHost(SshExchange& exchange, std::span<const SshSettings> jumps);
  JumpHost(const JumpHost&) = delete;
  JumpHost& operator=(const JumpHost&) = delete;
  ~JumpHost();

  void ask(std::shared_ptr<JumpRequest> request);

 private:
  struct Connection;

  [[nodiscard]] const SshSettings& settings() const { return jumps_.back(); }
  void pump();
  void open_connection();
  void log_in(Connection& connection, Reached reached);
  void failed(Connection& connection, const ChannelEnd& end);
  void forward(Connection& connection, const std::shared_ptr<JumpRequest>& request);
  void answered(Connection& connection, const std::shared_ptr<JumpRequest>& request,
                Forwarded result);
  void close_when_idle();

  SshExchange& exchange_;
  std::vector<SshSettings> jumps_;
  std::deque<std::shared_ptr<JumpRequest>> waiting_;
  std::list<Connection> connections_;
  std::size_t room_;  // channels that fit through one connection, as far as is known
  asio::steady_timer idle_timer_;
  std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace ds::launcher
