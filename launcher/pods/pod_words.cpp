// Each a few lines.
#include "launcher/pods/pod_words.h"

#include <fmt/format.h>

#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

/// terminationGracePeriodSeconds of a pod that does not say one.
constexpr std::chrono::seconds kPodGrace{30};
/// Beyond --grace: a root repeats KILL after 2 s, tells all nodes, and has files to write.
constexpr std::chrono::seconds kEndMargin{5};

}  // namespace

PeerWish peer_wish(const PodOptions& options) {
  PeerWish wish;
  wish.peers = options.peers;
  if (options.nodes) wish.nodes = NodeCount{*options.nodes, *options.nodes};
  wish.node_rank = options.node_rank;
  return wish;
}

Peers peers_of_launcher(const PodOptions& options, World world) {
  PeerWish wish = peer_wish(options);
  if (!options.peers) return find_peers(world, wish);
  wish.node_rank = 0;  // nobody asks which of them this is
  world.hostname = "launcher";
  world.addresses.clear();
  return find_peers(world, wish);
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

std::optional<std::string> grace_advice(std::chrono::milliseconds grace) {
  const auto needed = std::chrono::ceil<std::chrono::seconds>(grace + kEndMargin);
  if (needed <= kPodGrace) return std::nullopt;
  return fmt::format(
      "--grace lets ranks stop for {} s: set terminationGracePeriodSeconds of the pods to {} or "
      "more, since Kubernetes kills them after {} s by default",
      std::chrono::ceil<std::chrono::seconds>(grace).count(), needed.count(), kPodGrace.count());
}

}  // namespace ds::launcher
