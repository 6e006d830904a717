// The shim: parent of one rank's main process, and the lowest of the three links.
#pragma once

#include "launcher/agent/process_tree.h"
#include "launcher/agent/spawn.h"

namespace ds::launcher {

/// From shim to agent, as plain memory: both are the same program.
struct ShimReport {
  enum class Kind { started, failed, exited, empty };
  Kind kind = Kind::started;
  int value = 0;  // started: pid; exited: wait status; failed: errno; empty: processes killed
  Exited::Stage stage = Exited::Stage::none;
  std::uint64_t time = 0;  // clock_value() of the event
};
/// From agent to shim.
struct ShimOrder {
  enum class Kind { signal, kill, suspend, resume, leave };
  Kind kind = Kind::signal;
  int signo = 0;
};

struct ShimSetup {
  int rank = 0;
  SpawnSetup spawn;
  int control_fd = -1;  // SOCK_SEQPACKET
  pid_t agent = 0;      // 0 in a PID namespace, which dies with the agent
  ProcessRef guard{};
  bool leave = false;  // background processes stay alive when the main process has ended
};

/// Runs a shim and returns its exit code. Called after fork, with all signals blocked.
/// Promise: reports the start and the end of the main process. Processes that the main process
///          leaves behind are killed after 1 s, or stay if `leave` is set and no TERM was ordered.
///          Then it reports `empty` and waits until the agent dismisses it, so that an agent that
///          is stopped meanwhile is noticed. If the agent is killed or stopped, the shim kills all
///          its processes, then a stopped agent and a stopped guard.
int run_shim(ShimSetup setup);

}  // namespace ds::launcher
