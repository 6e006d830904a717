// What the options say becomes the request of a job.
#include "launcher/main/start_job.h"

#include <sys/stat.h>

#include <asio/io_context.hpp>
#include <filesystem>

#include "launcher/job/job.h"
#include "launcher/routes/routes.h"

namespace ds::launcher {

namespace {

mode_t current_umask() {
  const mode_t mask = ::umask(022);  // it can only be read by setting it
  ::umask(mask);
  return mask;
}

}  // namespace

int start_job(const Options& options, Placement placement, std::vector<std::string> command,
              EnvList forwarded) {
  asio::io_context io(1);
  std::vector<Host> hosts;
  for (const Node& node : placement.nodes) hosts.push_back(node.host);
  const Routes routes = make_routes(io, hosts, options.reach);
  JobRequest request;
  request.routes = routes.by_host;
  request.placement = std::move(placement);
  request.programs.push_back(
      {.argv = std::move(command),
       .working_directory =
           std::filesystem::absolute(options.env.wdir.value_or(".")).lexically_normal()});
  request.umask = current_umask();
  request.forwarded = std::move(forwarded);
  request.policy.grace = options.failure.grace;
  request.policy.node_timeout = options.failure.node_timeout;
  request.policy.start_timeout = start_timeout(options.reach);
  return run_job(io, std::move(request));
}

}  // namespace ds::launcher
