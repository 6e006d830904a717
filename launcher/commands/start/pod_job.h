// Job of pods that dial in: `dslaunch --k8s --transport join`, and `dslaunch agent --join`'s root.
#pragma once

#include <vector>

#include "launcher/cli/options.h"
#include "launcher/commands/start/joined_job.h"
#include "launcher/sources/peers.h"

namespace ds::launcher {

/// Returns the key from the options, the environment or a mounted file (find_join_key), and removes
/// the token from this process's environment.
/// Errors:  Error{config}.
JoinKey key_of_job(const PodOptions& pods);

/// Returns the setup without the key and without what depends on the process.
JoinedJobSetup joined_setup(const Options& options, const Peers& peers);

/// Runs `dslaunch --k8s --transport join`: waits for `dslaunch agent --join --root HERE` of every
/// peer.
int run_k8s_job(const Options& options, std::vector<Program> programs, JobEnvironment environment);

}  // namespace ds::launcher
