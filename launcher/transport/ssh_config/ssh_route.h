// Route to a host: its jump hosts, each with its own settings. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

struct SshRoute {
  std::vector<SshSettings> jumps;  // in the order of connecting; often empty
  SshSettings target;
};

/// Resolves the target's ProxyJump. The first of its hosts may have a ProxyJump or ProxyCommand of
/// its own, as with ssh. A host that names itself as its jump (`Host *`, `ProxyJump gate`) is
/// reached directly.
/// Errors:  Error{config}, also for a cycle of jump hosts.
SshRoute plan_route(const SshConfig& config, const Host& host, const LocalUser& local);

/// Returns a key that is equal for jump hosts that can share a connection: user, address, port and
/// the route to it.
std::string route_key(std::span<const SshSettings> jumps);

}  // namespace ds::launcher
