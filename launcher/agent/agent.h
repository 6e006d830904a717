// The agent of one node: performs what AgentState decides.
#pragma once

#include "launcher/agent/process_tree.h"

namespace ds::launcher {

struct AgentSetup {
  int in_fd = 0;
  int out_fd = 1;
  pid_t guard = 0;
  ProcessRef root;  // the launcher, if it runs on this machine: a stopped one is lost
};

/// The life of an agent; returns its exit code. Called after fork, all signals blocked.
/// Errors:  none: trouble is told to the root, then everything made here is killed.
int run_agent(const AgentSetup& setup);

}  // namespace ds::launcher
