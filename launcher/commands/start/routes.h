// Routes to hosts: the transport that reaches each host, created only if a host needs it.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "launcher/cli/options_reach.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/job/job.h"

namespace ds::launcher {

struct Routes {
  std::unique_ptr<Transport> local;
  std::unique_ptr<Transport> remote;  // ssh, or the program of --transport exec
  std::vector<NodeRoute> by_host;     // in host order; points into the transports above
};

/// Returns the routes of `hosts`. A connection is lost if its peer is silent for `node_timeout`.
/// Errors:  Error{config} for an invalid ssh configuration.
Routes make_routes(asio::io_context& io, const std::vector<Host>& hosts,
                   const ReachOptions& options,
                   std::chrono::milliseconds node_timeout = std::chrono::seconds(8));

/// Returns whether other hosts are reached by ssh.
bool goes_by_ssh(const ReachOptions& options);

/// Returns the start timeout: if no node makes progress for this time, nodes that are not ready are
/// bad.
std::chrono::milliseconds start_timeout(const ReachOptions& options);

}  // namespace ds::launcher
