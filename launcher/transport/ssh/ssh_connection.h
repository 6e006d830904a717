// Gets a socket to a host: directly, by a ProxyCommand, or through jump hosts.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

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

/// Opens a socket to the host of `settings`, behind `jumps`. Both must outlive the connection.
/// `done` comes once, never from inside the call, and may destroy the connection.
std::unique_ptr<SshConnection> open_connection(SshExchange& exchange, const SshSettings& settings,
                                               std::span<const SshSettings> jumps,
                                               std::function<void(Reached)> done);

}  // namespace ds::launcher
