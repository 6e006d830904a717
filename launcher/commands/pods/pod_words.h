// Pods of a job: hosts and addresses from the options and peers, and requests to stop. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/cli/options.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/sources/peers.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

/// Returns what find_peers needs of the options.
PeerRequest peer_request(const Options& options);

/// Returns the peers for a launcher that need not be one of them.   Errors:  as find_peers.
Peers peers_of_launcher(const Options& options, World world);

/// Returns the hosts of the job by index, with the slots of the options and the name to dial.
std::vector<Host> peer_hosts(const PodOptions& options, const Peers& peers);

/// Returns the address that nodes dial and where the root listens: --root, else the peer with index
/// 0, whose port may come from the environment.
RootWord root_of(const PodOptions& options, const Peers& peers);

/// Returns the address to listen on: the root's own name if that is an address, else empty (all).
std::string listening_address(const Peers& peers);

/// Variable of a manifest's pods with their terminationGracePeriodSeconds, which no process inside
/// can read.
inline constexpr const char* kPodLeave = "DSLAUNCH_POD_LEAVE";

/// Returns advice if stopping the job can take longer than the grace period of the pods. `leave`:
/// the value of kPodLeave; without it the period is Kubernetes' default.
std::optional<std::string> grace_advice(std::chrono::milliseconds grace,
                                        const std::optional<std::string>& leave);

/// Requests to stop a job. If all pods of a job are deleted, each gets TERM and each tells the
/// root. The first request stops the job. A second one of the same node means that stopping takes
/// too long there, and kills.
class StopRequests {
 public:
  /// Returns whether the job must hear of this request. `who`: a place of the job, or empty for
  /// this process.
  bool counts(const std::string& who) {
    const bool again = !heard_.insert(who).second;
    return again || heard_.size() == 1;
  }

 private:
  std::set<std::string> heard_;
};

}  // namespace ds::launcher
