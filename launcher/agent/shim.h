// The shim: parent of one rank's main process, and the last link of its path.
#pragma once

#include "launcher/agent/process_tree.h"
#include "launcher/agent/spawn.h"

namespace ds::launcher {

/// Shim to agent. Both run the same program, so plain memory travels.
struct ShimReport {
  enum class Kind { started, failed, exited, empty };
  Kind kind = Kind::started;
  int value = 0;  // started: pid; exited: wait status; failed: errno; empty: nothing is left
  Exited::Stage stage = Exited::Stage::none;
  std::uint64_t time = 0;  // clock_value() of when it happened
};
/// Agent to shim.
struct ShimOrder {
  enum class Kind { signal, kill, suspend, resume, leave };
  Kind kind = Kind::signal;
  int signo = 0;
};

struct ShimSetup {
  int rank = 0;
  SpawnSetup spawn;
  int control_fd = -1;  // a SOCK_SEQPACKET pair's end
  pid_t agent = 0;      // 0 in a PID namespace: all of it dies with the agent
  ProcessRef guard{};
};

/// The life of a shim; returns its exit code. Called after fork, with all signals blocked.
/// Promise: reports how the start went and how the main process ended. What that leaves behind has
/// one
///          second to end by itself, then it is killed. Once nothing is left it says so, and stays
///          on watch until the agent lets it go: an agent that is stopped at this very moment must
///          not be left alone. Without its agent, or with a stopped one, it kills all it has, then
///          a stopped agent and a stopped guard.
int run_shim(ShimSetup setup);

}  // namespace ds::launcher
