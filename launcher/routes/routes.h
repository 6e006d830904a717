// Which transport reaches which host; each is made only if a host needs it.
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
  std::vector<NodeRoute> by_host;     // in the order of the hosts; they point to the transports
};

/// A connection whose peer is silent for `node_timeout` is lost.
/// Errors:  Error{config} for a broken ssh configuration.
Routes make_routes(asio::io_context& io, const std::vector<Host>& hosts,
                   const ReachOptions& options,
                   std::chrono::milliseconds node_timeout = std::chrono::seconds(8));

/// Whether other hosts are reached by ssh.
bool goes_by_ssh(const ReachOptions& options);

/// Without any node getting further for so long, those that are not ready are bad.
std::chrono::milliseconds start_timeout(const ReachOptions& options);

}  // namespace ds::launcher
