// Conversion of pod options and peers into hosts, addresses and advice.
#include "launcher/commands/pods/pod_words.h"

#include <fmt/format.h>

#include <cstdlib>

#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

/// Kubernetes' default of terminationGracePeriodSeconds.
constexpr std::chrono::seconds kPodGrace{30};
/// Time needed after --grace: a root repeats KILL after 2 s, tells all nodes, and writes files.
constexpr std::chrono::seconds kEndMargin{5};

}  // namespace

PeerRequest peer_request(const Options& options) {
  const auto count = [](const std::optional<NodeRange>& range) {
    return range && range->most > 0 ? std::optional(NodeCount{range->least, range->most})
                                    : std::nullopt;
  };
  PeerRequest request;
  request.peers = options.pods.peers;
  request.nodes = count(options.pods.nodes);
  request.range = count(options.failure.nodes);
  request.node_rank = options.pods.node_rank;
  return request;
}

Peers peers_of_launcher(const Options& options, World world) {
  PeerRequest request = peer_request(options);
  if (!options.pods.peers) return find_peers(world, request);
  request.only_launches = true;
  world.hostname = "launcher";
  world.addresses.clear();
  return find_peers(world, request);
}

std::vector<Host> peer_hosts(const PodOptions& options, const Peers& peers) {
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < peers.names.size(); ++i) {
    Host host;
    host.name = peers.names[i];
    if (peers.dial[i] != host.name) host.address = peers.dial[i];
    host.slots = options.slots;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

RootWord root_of(const PodOptions& options, const Peers& peers) {
  if (options.root) {
    RootWord root = *options.root;
    if (root.port == 0) root.port = options.join_port.value_or(kJoinPort);
    return root;
  }
  return {peers.dial.front(), options.join_port.value_or(peers.port != 0 ? peers.port : kJoinPort)};
}

std::string listening_address(const Peers& peers) { return read_address(peers.names.front()); }

std::optional<std::string> grace_advice(std::chrono::milliseconds grace,
                                        const std::optional<std::string>& leave) {
  std::chrono::seconds period = kPodGrace;
  if (const int given = leave ? std::atoi(leave->c_str()) : 0; given > 0)
    period = std::chrono::seconds(given);
  const auto needed = std::chrono::ceil<std::chrono::seconds>(grace + kEndMargin);
  if (needed <= period) return std::nullopt;
  return fmt::format(
      "--grace gives ranks {} s to stop, but Kubernetes kills the pods after {} s: set their "
      "terminationGracePeriodSeconds to at least {}",
      std::chrono::ceil<std::chrono::seconds>(grace).count(), period.count(), needed.count());
}

}  // namespace ds::launcher
