// Attempts to log in at one host: a socket for each, another try when the server drops one at
// random.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/transport/ssh/ssh_way.h"

namespace ds::launcher {

/// Destroying it stops it. `settings` and `jumps` must outlive it.
class SshApproach {
 public:
  struct Events {
    std::function<void(Reached)> on_socket;     // log in on this one
    std::function<void(ChannelEnd)> on_failed;  // there will be no further socket
  };
  SshApproach(SshExchange& exchange, const SshSettings& settings,
              std::span<const SshSettings> jumps, Events events);
  SshApproach(const SshApproach&) = delete;
  SshApproach& operator=(const SshApproach&) = delete;
  ~SshApproach() = default;

  void start();
  /// The connection over the last socket has ended: tries again if that is worth it.
  void ended(SshLinkEnd end);

 private:
  void attempt();

  SshExchange& exchange_;
  const SshSettings& settings_;
  std::span<const SshSettings> jumps_;
  Events events_;
  asio::steady_timer timer_;
  Clock::time_point begin_;
  int attempts_ = 0;
  std::unique_ptr<SshWay> way_;
  std::shared_ptr<int> life_ = std::make_shared<int>();  // what a late event asks for
};

}  // namespace ds::launcher
