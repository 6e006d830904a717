// Runs the agent of one node: an event loop that performs what AgentState decides.
#pragma once

#include "launcher/agent/process_tree.h"

namespace ds::launcher {

struct AgentSetup {
  int in_fd = 0;
  int out_fd = 1;
  pid_t guard = 0;
  ProcessRef root;  // the launcher, if it runs on this machine: a stopped launcher is lost
};

/// Exit code of an agent that leaves background processes alive: its guard then kills nothing.
inline constexpr int kLeavesProcesses = 2;

/// Runs an agent and returns its exit code. Called after fork, with all signals blocked.
/// Errors:  none; the agent reports an error to the root, then kills everything it has started.
int run_agent(const AgentSetup& setup);

}  // namespace ds::launcher
