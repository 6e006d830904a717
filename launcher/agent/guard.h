// The guard: first process of the job on a node, parent of the agent.
#pragma once

#include "launcher/agent/process_tree.h"

namespace ds::launcher {

/// The life of a guard and, below it, of an agent on these descriptors; returns the exit code.
/// Called at the start of a process that is to become a guard (forked with all signals blocked, or
/// executed as `dslaunch agent`). `root`: the launcher, if it is on this machine.
/// Promise: when it returns, nothing that was started below it is left.
int run_guard(int in_fd, int out_fd, const ProcessRef& root = {});

}  // namespace ds::launcher
