// Connections to a host: gets a socket (directly, by a ProxyCommand, or through jump hosts), and
// tries again when the server drops a login at random.
#pragma once

#include <asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

/// An attempt, and whatever carries the bytes of its socket: it must live as long as the socket is
/// in use. Destroying it gives up.
class SshConnection {
 public:
  virtual ~SshConnection() = default;
  /// Returns an error of the ProxyCommand, to be added to the reason of a failed login; often
  /// empty.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
  /// Whether another attempt would fail as well.
  [[nodiscard]] virtual bool hopeless() const { return false; }
};

/// Opens a socket to the host of `settings`, behind `jumps`. Settings and jumps must outlive the
/// connection.
/// `done` comes once, never from inside the call, and may destroy the connection.
std::unique_ptr<SshConnection> open_connection(SshExchange& exchange, const SshSettings& settings,
                                               std::span<const SshSettings> jumps,
                                               std::function<void(Reached)> done);
/// Like open_connection(), but opens a channel through the last of the jump hosts, on a connection
/// that its targets share.
std::unique_ptr<SshConnection> open_jump_connection(SshExchange& exchange,
                                                    const SshSettings& settings,
                                                    std::span<const SshSettings> jumps,
                                                    std::function<void(Reached)> done);

class CertificateFetch;

/// Attempts to log in at one host. Destroying it stops it. `settings` and `jumps` must outlive it.
class SshAttempts {
 public:
  /// Calls `on_socket` for each socket to log in on, and `on_failed` when no further one comes.
  SshAttempts(SshExchange& exchange, const SshSettings& settings,
              std::span<const SshSettings> jumps, std::function<void(Reached)> on_socket,
              std::function<void(ChannelEnd)> on_failed);
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
  std::function<void(Reached)> on_socket_;
  std::function<void(ChannelEnd)> on_failed_;
  asio::steady_timer timer_;
  Clock::time_point begin_ = Clock::now();
  int attempts_ = 0;
  std::unique_ptr<SshConnection> connection_;
  std::unique_ptr<CertificateFetch> certificate_fetch_;
  std::optional<std::optional<HostKey>> certificate_;    // the host's answer, once it was asked
  std::shared_ptr<int> life_ = std::make_shared<int>();  // expires with this object
};

}  // namespace ds::launcher
