// Routes to hosts: the transport that reaches each host, created only if a host needs it; waiting
// for the workers of a launcher pod, which starts before their names, ports and sshd.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/job.h"
#include "launcher/join/knock.h"

namespace ds::launcher {

struct Routes {
  std::unique_ptr<Transport> local;
  std::unique_ptr<Transport> remote;  // ssh, or the program of --transport exec
  std::vector<NodeRoute> by_host;     // in host order; points into the transports above
  std::function<NodeRoute(const Host&)> more{};  // of a host that is named later
  std::vector<std::unique_ptr<KnockListener>> knocks;  // of workers that have come back
};

/// Returns the routes of `hosts`. A connection is lost if its peer is silent for `node_timeout`.
/// Errors:  Error{config} for an invalid ssh configuration.
Routes make_routes(asio::io_context& io, const std::vector<Host>& hosts,
                   const ReachOptions& options,
                   std::chrono::milliseconds node_timeout = std::chrono::seconds(8));

/// Returns the start timeout: if no node makes progress for this time, nodes that are not ready are
/// bad.
std::chrono::milliseconds start_timeout(const ReachOptions& options);

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

/// Returns the pause before the first lookup of a host: in a pod, unless it is a numeric address,
/// its record must have had the time to appear (kClusterFirstLook).
std::chrono::milliseconds first_look(const std::string& host);

}  // namespace ds::launcher
