// What the options and the peers of a pod mean for its job. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/cli/options_pods.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/sources/peers.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

PeerWish peer_wish(const PodOptions& options);

/// The peers as a launcher sees them, which need not be one of them.   Errors:  as find_peers.
Peers peers_of_launcher(const PodOptions& options, World world);

/// The hosts of the job by index, each with the slots that the options say and what to dial.
std::vector<Host> peer_hosts(const PodOptions& options, const Peers& peers);

/// Where a node that is not the root dials, and where the root listens: --root, else the peer of
/// index 0, whose port the environment may say.
RootWord root_of(const PodOptions& options, const Peers& peers);

/// A root whose own name is an address listens there alone; else on all: empty.
std::string listening_address(const Peers& peers);

/// A line for people when a stopping job takes longer than Kubernetes waits unless told.
std::optional<std::string> grace_advice(std::chrono::milliseconds grace);

}  // namespace ds::launcher
