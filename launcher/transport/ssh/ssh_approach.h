// Attempts to log in at one host: opens a socket for each, and tries again when the server drops a
// connection at random.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/transport/ssh/certificate_connection.h"
#include "launcher/transport/ssh/ssh_way.h"

namespace ds::launcher {

/// Destroying it stops it. `settings` and `jumps` must outlive it.
class SshApproach {
 public:
  struct Events {
    std::function<void(Reached)> on_socket;     // log in on this one
    std::function<void(ChannelEnd)> on_failed;  // no further socket comes
  };
  SshApproach(SshExchange& exchange, const SshSettings& settings,
              std::span<const SshSettings> jumps, Events events);
  SshApproach(const SshApproach&) = delete;
  SshApproach& operator=(const SshApproach&) = delete;
  ~SshApproach() = default;

  void start();
  /// To be called when the connection over the last socket has ended. Tries again if the end is
  /// transient.
  void ended(SshLinkEnd end);

 private:
  void attempt();
  void reached(Reached reached);
  void fetched(FetchedCertificate fetched);

  SshExchange& exchange_;
  const SshSettings& settings_;
  std::span<const SshSettings> jumps_;
  Events events_;
  asio::steady_timer timer_;
  Clock::time_point begin_;
  int attempts_ = 0;
  std::unique_ptr<SshWay> way_;
  std::unique_ptr<CertificateConnection> certificate_connection_;
  std::optional<std::optional<HostKey>> certificate_;  // the host's answer, once it was asked
  std::shared_ptr<int> life_ =
      std::make_shared<int>();  // expires with this object: late events check it
};

}  // namespace ds::launcher
