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

#include "launcher/transport/ssh/ssh_approach.h"

namespace ds::launcher {

/// A request for a socket to host:port. An empty `done` means that it was canceled.
struct JumpRequest {
  std::string host;
  int port = 22;
  std::chrono::milliseconds limit{};  // of the jump host's connect
  std::function<void(Reached)> done;
  std::unique_ptr<asio::steady_timer> timer;
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
  struct Line;

  [[nodiscard]] const SshSettings& settings() const { return jumps_.back(); }
  void pump();
  void open_line();
  void line_up(Line& line);
  void line_failed(Line& line, const ChannelEnd& end);
  void forward(Line& line, const std::shared_ptr<JumpRequest>& request);
  void answered(Line& line, const std::shared_ptr<JumpRequest>& request, Forwarded result);
  void close_when_idle();
  static void answer(const std::shared_ptr<JumpRequest>& request, Reached reached);

  SshExchange& exchange_;
  std::vector<SshSettings> jumps_;
  std::deque<std::shared_ptr<JumpRequest>> waiting_;
  std::list<std::unique_ptr<Line>> lines_;
  std::size_t room_;  // channels that fit through one connection, as far as is known
  asio::steady_timer idle_timer_;
  std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace ds::launcher
