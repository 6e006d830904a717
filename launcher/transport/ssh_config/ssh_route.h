// The way to a host: the jump hosts in front of it, each with its own settings. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct SshRoute {
  std::vector<SshSettings> jumps;  // the one that this machine connects to first; often empty
  SshSettings target;
};

/// The target's ProxyJump in order; the first of its hosts may have a ProxyJump or ProxyCommand of
/// its own, as with ssh. A host that names itself as its jump (`Host *`, `ProxyJump gate`) is
/// reached directly.
/// Errors:  Error{config}, also for jumps that go in a circle.
SshRoute plan_route(const SshConfig& config, const Host& host, const LocalUser& local);

/// Equal for jump hosts that can share a connection: user, address, port and the way there.
std::string route_key(std::span<const SshSettings> jumps);

}  // namespace ds::launcher
