// A launcher in a pod starts before its workers: their names, ports and sshd are waited for.
#pragma once

#include <chrono>
#include <span>

#include "launcher/cli/options_reach.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Waits until every host that is reached directly by ssh has an address and takes connections at
/// its port, as ssh_config has them; Host::address then is the one that did. A line to standard
/// error every 10 s. Hosts behind jump hosts, this machine, and those of another transport are left
/// as they are.
/// Errors:  Error{unreachable} with a table when `limit` is over; Error{config}: ssh_config.
void await_hosts(std::span<Host> hosts, const ReachOptions& options,
                 std::chrono::milliseconds limit);

/// The same for the nodes of a placement.
void await_nodes(Placement& placement, const ReachOptions& options,
                 std::chrono::milliseconds limit);

/// Whether this process runs in a pod of Kubernetes: only there a host that does not answer is
/// expected to come.
bool in_pod();

}  // namespace ds::launcher
