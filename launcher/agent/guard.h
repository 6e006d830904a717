// The guard: first process of a job on a node and parent of the agent; kills what an agent leaves.
#pragma once

#include "launcher/agent/process_tree.h"

namespace ds::launcher {

/// Runs a guard, and below it an agent on these descriptors; returns the exit code of the agent.
/// Called at the start of a process that becomes a guard: forked with all signals blocked, or
/// executed as `dslaunch agent`. `root` is the launcher if it runs on this machine.
/// Promise: when it returns, nothing that was started below it is left, unless the agent returned
///          kLeavesProcesses.
int run_guard(int in_fd, int out_fd, const ProcessRef& root = {});

}  // namespace ds::launcher
