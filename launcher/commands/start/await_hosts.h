// Waiting for the workers of a launcher pod, which starts before their names, ports and sshd.
#pragma once

#include <chrono>
#include <span>

#include "launcher/cli/options_reach.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Waits until every host that is reached directly by ssh has an address and accepts connections at
/// its port, as set in ssh_config. Sets Host::address to the address that accepted. Prints a line
/// to standard error every 10 s. Does not wait for hosts behind jump hosts, this machine, or hosts
/// of another transport. Errors:  Error{unreachable} with a table after `limit`; Error{config} for
/// ssh_config.
void await_hosts(std::span<Host> hosts, const ReachOptions& options,
                 std::chrono::milliseconds limit);

/// Does the same for the nodes of a placement.
void await_nodes(Placement& placement, const ReachOptions& options,
                 std::chrono::milliseconds limit);

/// Returns whether this process runs in a Kubernetes pod. Only there is a host that does not answer
/// expected to appear.
bool in_pod();

}  // namespace ds::launcher
