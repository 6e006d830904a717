// Waiting for workers: selects the hosts that can be dialed directly and waits for their ports.
#include "launcher/commands/start/await_hosts.h"

#include <fmt/format.h>

#include <asio/io_context.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "launcher/commands/start/routes.h"
#include "launcher/dns/wait_hosts.h"
#include "launcher/sources/own_names.h"
#include "launcher/transport/ssh/ssh_files.h"
#include "launcher/transport/ssh_config/ssh_config.h"

namespace ds::launcher {

namespace {

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

void await_hosts(std::span<Host> hosts, const ReachOptions& options,
                 std::chrono::milliseconds limit) {
  if (!goes_by_ssh(options)) return;
  Awaited awaited = awaited_of(hosts, options);
  if (awaited.hosts.empty()) return;
  asio::io_context io(1);
  WaitForHosts wait;
  wait.limit = limit;
  wait.say = [](const std::string& line) { fmt::print(stderr, "{}", "dslaunch: " + line + "\n"); };
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

bool in_pod() { return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr; }

}  // namespace ds::launcher
