// Ways to get a socket to a host: straight, by a ProxyCommand, or through jump hosts.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/base/unique_fd.h"
#include "launcher/transport/ssh/ssh_exchange.h"

namespace ds::launcher {

struct Reached {
  UniqueFd socket;      // empty if there is none
  std::string address;  // of the other end, if this machine knows it
  std::string stage;    // without a socket: how far it got, and why not further
  std::string problem;
  bool transient = false;
};

/// Destroying it gives up, and ends what carries the socket's bytes: it lives as long as the socket
/// is in use.
class SshWay {
 public:
  virtual ~SshWay() = default;
  /// What went wrong on the way itself, for the reason of a login that failed; often empty.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
  /// True if another attempt would end the same way.
  [[nodiscard]] virtual bool hopeless() const { return false; }
};

/// Looks for a socket to the host of `settings`, behind `jumps`. Both must outlive the way.
/// `done` comes once, never from inside the call, and may destroy the way.
std::unique_ptr<SshWay> find_way(SshExchange& exchange, const SshSettings& settings,
                                 std::span<const SshSettings> jumps,
                                 std::function<void(Reached)> done);

}  // namespace ds::launcher
