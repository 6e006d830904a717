// Jobs of pods that dial in: `dslaunch --k8s --transport join`, the root of `dslaunch agent
// --join`.
#pragma once

#include <vector>

#include "launcher/cli/options.h"
#include "launcher/main/joined_job.h"
#include "launcher/sources/peers.h"

namespace ds::launcher {

/// What the options, the environment or a mounted file have (find_join_key); the token then is gone
/// from this process's environment.
/// Errors:  Error{config}.
JoinKey key_of_job(const PodOptions& pods);

/// All but the key and what belongs to this process alone.
JoinedJobSetup joined_setup(const Options& options, const Peers& peers);

/// `dslaunch --k8s --transport join`: waits for `dslaunch agent --join --root HERE` of every peer.
int run_k8s_job(const Options& options, std::vector<Program> programs, JobEnvironment environment);

}  // namespace ds::launcher
