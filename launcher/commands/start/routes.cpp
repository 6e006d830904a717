// Routes: this machine directly, other hosts by ssh or a program, as the options say. Waits only
// for hosts that are dialed directly.
#include "launcher/commands/start/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "launcher/agent/process_settings.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/dns/wait_hosts.h"
#include "launcher/hosts/host_word.h"
#include "launcher/sources/own_names.h"
#include "launcher/transport/agent_command.h"
#include "launcher/transport/exec/exec_template.h"
#include "launcher/transport/exec/exec_transport.h"
#include "launcher/transport/local_transport.h"
#include "launcher/transport/ssh/ask_pass.h"
#include "launcher/transport/ssh/ssh_files.h"
#include "launcher/transport/ssh/ssh_transport.h"
#include "launcher/transport/ssh_config/ssh_config.h"
#include "launcher/wire/build_line.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

namespace {

// Time beyond the login: starting the agent on a busy machine.
constexpr std::chrono::seconds kStartMargin{30};
constexpr std::chrono::milliseconds kLeastStage{2000};  // minimum that a busy node needs
constexpr std::chrono::seconds kExecMargin{20};  // less, so that a silent program is named first

/// Returns the timeouts of the login stages. A given --connect-timeout replaces them, whether it is
/// shorter or longer.
SshStageLimits stage_limits(std::chrono::milliseconds connect_timeout) {
  SshStageLimits limits;
  if (connect_timeout == ReachOptions().connect_timeout) return limits;
  limits.handshake = limits.auth = std::max(connect_timeout, kLeastStage);
  return limits;
}

SshOptions ssh_options(const ReachOptions& options, std::chrono::milliseconds node_timeout) {
  SshOptions ssh;
  const std::string path = options.agent_path.value_or(own_path());
  ssh.remote_command = direct_agent_command(path);
  ssh.fallback_command = remote_agent_command(path);
  if (ssh.remote_command.empty()) ssh.remote_command = std::exchange(ssh.fallback_command, {});
  if (options.push && !options.agent_path) ssh.copy = copy_of_this_program;
  ssh.answer = kPreamble;
  ssh.build = own_build_id();
  ssh.config_file = options.ssh_config.value_or("");
  ssh.known_hosts_files = options.known_hosts;
  ssh.connect_limit = options.connect_timeout;
  ssh.limits = stage_limits(options.connect_timeout);
  ssh.retry_limit = 2 * options.connect_timeout;
  ssh.dead_after = node_timeout;
  ssh.window = options.window;
  if (ask_method() != AskMethod::none) ssh.ask = ask_pass_phrase;
  ssh.warn = [](const std::string& text) {
    fmt::print(stderr, "{}", "dslaunch: warning: " + text + "\n");
  };
  return ssh;
}

/// Returns the program that reaches other hosts; empty for ssh. An operator without ssh gives its
/// kubexec.sh to Open MPI in a variable.
std::vector<std::string> program_words(const ReachOptions& options) {
  std::vector<std::string> words = options.exec_words;
  const char* agent = std::getenv("OMPI_MCA_plm_rsh_agent");
  if (options.transport == TransportChoice::automatic && agent != nullptr && is_kubexec(agent))
    words = {agent};
  if (words.size() != 1 || !is_kubexec(words.front())) return words;
  const std::optional<std::string> script = read_text_file(words.front());
  return kubexec_words(script.value_or("")).value_or(words);
}

std::unique_ptr<Transport> make_remote(asio::io_context& io, const ReachOptions& options,
                                       std::chrono::milliseconds node_timeout,
                                       std::shared_ptr<NewAddresses> moved) {
  if (options.transport == TransportChoice::slurm)
    throw Error(ErrorKind::usage,
                "--transport slurm reaches only the nodes of the job's allocation",
                "to run a command on each node of the allocation: srun -N 4 --overlap COMMAND");
  ExecOptions exec;
  exec.words = program_words(options);
  if (exec.words.empty()) {
    SshOptions ssh = ssh_options(options, node_timeout);
    ssh.moved = std::move(moved);
    return make_ssh_transport(io, std::move(ssh));
  }
  exec.remote_command = remote_agent_command(options.agent_path.value_or(own_path()));
  exec.start_limit = options.connect_timeout + kExecMargin;
  exec.window = options.window;
  return make_exec_transport(io, std::move(exec));
}

/// Listens for workers that have come back, where hosts were waited for: in a pod. Names of other
/// hosts are not kept.
std::vector<std::unique_ptr<KnockListener>> hear_knocks(
    asio::io_context& io, const std::shared_ptr<NewAddresses>& moved,
    const std::vector<Host>& hosts) {
  std::set<std::string> known;
  for (const Host& host : hosts)
    if (!host.found_by.empty()) known.insert(NewAddresses::label_of(host.found_by));
  std::vector<std::unique_ptr<KnockListener>> listeners;
  for (const char* any : {"0.0.0.0", "::"})
    listeners.push_back(std::make_unique<KnockListener>(
        io, any, kJoinPort,
        [moved, known](const std::string& address, const std::string& name) {
          if (known.contains(NewAddresses::label_of(name))) moved->set(name, address);
        }));
  return listeners;
}

/// Hosts as wait_for_hosts dials them, with their indexes in the original list.
struct Awaited {
  std::vector<Host> hosts;
  std::vector<std::size_t> indexes;
};

Awaited awaited_of(std::span<const Host> hosts, const ReachOptions& options) {
  const LocalUser local = local_user();
  const SshConfig config = read_ssh_config(options.ssh_config.value_or(""), local);
  const OwnNames own = options.transport == TransportChoice::automatic ? own_names() : OwnNames{};
  Awaited awaited;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (options.transport == TransportChoice::automatic && is_own_host(hosts[i], own)) continue;
    const SshRoute route = plan_route(config, hosts[i], local);
    if (!route.jumps.empty() || !route.target.proxy_command.empty()) continue;
    Host dialled = hosts[i];
    dialled.address = route.target.address;
    dialled.port = route.target.port;
    awaited.hosts.push_back(std::move(dialled));
    awaited.indexes.push_back(i);
  }
  return awaited;
}

}  // namespace

Routes make_routes(asio::io_context& io, const std::vector<Host>& hosts,
                   const ReachOptions& options, std::chrono::milliseconds node_timeout) {
  const TransportChoice choice = options.transport;
  if (choice == TransportChoice::join)
    usage_error("--transport join needs --k8s", "--k8s names the nodes that dial in");
  raise_open_files();  // one descriptor per node
  const OwnNames own = choice == TransportChoice::automatic ? own_names() : OwnNames{};
  Routes routes;
  std::vector<Host> remote;
  const auto moved = std::make_shared<NewAddresses>();
  const auto was_found = [](const Host& host) { return !host.found_by.empty(); };
  if (std::ranges::any_of(hosts, was_found)) routes.knocks = hear_knocks(io, moved, hosts);
  for (const Host& host : hosts) {
    const bool is_local = choice == TransportChoice::local ||
                          (choice == TransportChoice::automatic && is_own_host(host, own));
    std::unique_ptr<Transport>& transport = is_local ? routes.local : routes.remote;
    if (!transport)
      transport = is_local ? make_local_transport(io) : make_remote(io, options, node_timeout, moved);
    routes.by_host.push_back({transport.get(), is_local});
    if (!is_local) remote.push_back(host);
  }
  if (routes.remote) routes.remote->prepare(remote);
  routes.more = [&io, options, node_timeout, moved, own, choice, local = routes.local.get(),
                 remote = routes.remote.get(),
                 made = std::make_shared<std::vector<std::unique_ptr<Transport>>>()](
                    const Host& host) mutable {
    const bool is_local = choice == TransportChoice::local ||
                          (choice == TransportChoice::automatic && is_own_host(host, own));
    Transport*& transport = is_local ? local : remote;
    if (transport == nullptr) {
      made->push_back(is_local ? make_local_transport(io)
                               : make_remote(io, options, node_timeout, moved));
      transport = made->back().get();
    }
    return NodeRoute{transport, is_local};
  };
  return routes;
}

std::chrono::milliseconds start_timeout(const ReachOptions& options) {
  const SshStageLimits stages = stage_limits(options.connect_timeout);
  return options.connect_timeout + stages.handshake + stages.auth + kStartMargin;
}

void await_hosts(std::span<Host> hosts, const ReachOptions& options,
                 std::chrono::milliseconds limit) {
  const bool by_ssh = options.transport != TransportChoice::local && program_words(options).empty();
  if (!by_ssh) return;
  Awaited awaited = awaited_of(hosts, options);
  if (awaited.hosts.empty()) return;
  asio::io_context io(1);
  WaitForHosts wait;
  wait.limit = limit;
  for (const Host& host : awaited.hosts)
    wait.first_look =
        std::max(wait.first_look, first_look(host.address.empty() ? host.name : host.address));
  wait.say = say_line;
  wait_for_hosts(io, awaited.hosts, wait);
  for (std::size_t i = 0; i < awaited.hosts.size(); ++i) {
    hosts[awaited.indexes[i]].address = awaited.hosts[i].address;
    hosts[awaited.indexes[i]].found_by = awaited.hosts[i].found_by;
  }
}

void await_nodes(Placement& placement, const ReachOptions& options,
                 std::chrono::milliseconds limit) {
  std::vector<Host> hosts;
  for (const Node& node : placement.nodes) hosts.push_back(node.host);
  await_hosts(hosts, options, limit);
  for (std::size_t i = 0; i < hosts.size(); ++i) placement.nodes[i].host = hosts[i];
}

std::chrono::milliseconds first_look(const std::string& host) {
  const bool waits = in_pod() && read_address(host).empty();
  return waits ? kClusterFirstLook : std::chrono::milliseconds(0);
}

bool in_pod() { return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr; }

}  // namespace ds::launcher
