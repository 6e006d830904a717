// Hosts known, ranks placed: the routes to the hosts, then the job.
#include "launcher/main/start_job.h"

#include <asio/io_context.hpp>

#include "launcher/agent/limits.h"
#include "launcher/main/job_request.h"
#include "launcher/routes/routes.h"

namespace ds::launcher {

int start_job(const Options& options, PlacedJob placed, std::vector<Program> programs,
              JobEnvironment environment) {
  return run_at_terminal(options, [&](const Background* background) {
    raise_open_files();  // one a node
    asio::io_context io(1);
    std::vector<Host> hosts;
    for (const Node& node : placed.placement.nodes) hosts.push_back(node.host);
    hosts.insert(hosts.end(), placed.spares.begin(), placed.spares.end());
    const Routes routes = make_routes(io, hosts, options.reach, options.failure.node_timeout);
    JobRequest request = job_request(options, std::move(placed), std::move(programs),
                                     std::move(environment), background);
    request.routes = routes.by_host;
    request.policy.start_timeout = start_timeout(options.reach);
    return run_job(io, std::move(request));
  });
}

}  // namespace ds::launcher
