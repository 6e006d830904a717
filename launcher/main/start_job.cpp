// Local nodes get an agent of this process, the others ssh; each transport is made only if a node
// needs it.
#include "launcher/main/start_job.h"

#include <sys/stat.h>

#include <asio/io_context.hpp>
#include <filesystem>
#include <memory>

#include "launcher/cli/train_command.h"
#include "launcher/job/job.h"
#include "launcher/transport/local_transport.h"
#include "launcher/transport/own_names.h"
#include "launcher/transport/remote_command.h"
#include "launcher/transport/ssh_transport.h"

namespace ds::launcher {

namespace {

// Beyond connecting: logging in, and starting the agent on a busy machine.
constexpr std::chrono::seconds kStartMargin{30};

mode_t current_umask() {
  const mode_t mask = ::umask(022);  // it can only be read by setting it
  ::umask(mask);
  return mask;
}

std::vector<bool> local_nodes(const Placement& placement, TransportChoice choice) {
  const OwnNames own = choice == TransportChoice::automatic ? own_names() : OwnNames{};
  std::vector<bool> local;
  for (const Node& node : placement.nodes)
    local.push_back(choice == TransportChoice::local ||
                    (choice == TransportChoice::automatic && is_own_host(node.host, own)));
  return local;
}

SshOptions ssh_options(const ReachOptions& options) {
  SshOptions ssh;
  ssh.remote_command = remote_agent_command(options.agent_path.value_or(own_path()));
  ssh.config_file = options.ssh_config.value_or("");
  ssh.known_hosts_files = options.known_hosts;
  ssh.connect_limit = options.connect_timeout;
  ssh.window = options.window;
  return ssh;
}

}  // namespace

int start_job(const Options& options, Placement placement, std::vector<std::string> command,
              EnvList forwarded) {
  asio::io_context io(1);
  std::unique_ptr<Transport> local;
  std::unique_ptr<Transport> ssh;
  JobRequest request;
  for (const bool is_local : local_nodes(placement, options.reach.transport)) {
    std::unique_ptr<Transport>& transport = is_local ? local : ssh;
    if (!transport)
      transport =
          is_local ? make_local_transport(io) : make_ssh_transport(io, ssh_options(options.reach));
    request.routes.push_back({transport.get(), is_local});
  }
  request.placement = std::move(placement);
  request.programs.push_back(
      {.argv = std::move(command),
       .working_directory =
           std::filesystem::absolute(options.env.wdir.value_or(".")).lexically_normal()});
  request.umask = current_umask();
  request.forwarded = std::move(forwarded);
  request.policy.grace = options.failure.grace;
  request.policy.node_timeout = options.failure.node_timeout;
  request.policy.start_timeout = options.reach.connect_timeout + kStartMargin;
  return run_job(io, std::move(request));
}

}  // namespace ds::launcher
