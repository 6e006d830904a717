// Attempts to log in at one host: opens a socket for each, and tries again when the server drops a
// connection at random.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>

#include "engine/base/deadline.h"
#include "launcher/transport/ssh/ssh_connection.h"

namespace ds::launcher {

class CertificateFetch;

/// Destroying it stops it. `settings` and `jumps` must outlive it.
class SshAttempts {
 public:
  struct Events {
    std::function<void(Reached)> on_socket;     // log in on this one
    std::function<void(ChannelEnd)> on_failed;  // no further socket comes
  };
  SshAttempts(SshExchange& exchange, const SshSettings& settings,
              std::span<const SshSettings> jumps, Events events);
  SshAttempts(const SshAttempts&) = delete;
  SshAttempts& operator=(const SshAttempts&) = delete;
  ~SshAttempts();

  /// To be called when the connection over the last socket has ended. Tries again if the end is
  /// transient.
  void ended(SshLinkEnd end);

 private:
  void attempt();
  void reached(Reached reached);
  void fetched(std::optional<HostKey> certificate, const std::string& problem, bool transient);

  SshExchange& exchange_;
  const SshSettings& settings_;
  std::span<const SshSettings> jumps_;
  Events events_;
  asio::steady_timer timer_;
  Clock::time_point begin_ = Clock::now();
  int attempts_ = 0;
  std::unique_ptr<SshConnection> connection_;
  std::unique_ptr<CertificateFetch> certificate_fetch_;
  std::optional<std::optional<HostKey>> certificate_;    // the host's answer, once it was asked
  std::shared_ptr<int> life_ = std::make_shared<int>();  // expires with this object
};

}  // namespace ds::launcher
