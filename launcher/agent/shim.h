// The shim: parent of one rank's main process, and the lowest of the three links. Also starts that
// process (spawn.cpp).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/agent/process_settings.h"
#include "launcher/agent/process_tree.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct SpawnSetup {
  std::vector<std::string> argv;
  bool short_name = false;  // argv[0] is the last part of the program's path, as sshd runs shells
  EnvList env;              // complete
  std::string cwd;
  bool cwd_or_root = false;  // if cwd cannot be entered: "/", with a line on stderr
  std::uint32_t umask = 022;
  std::vector<LimitToSet> limits{};
  int stdin_fd = -1;  // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  int pmi_fd = -1;                          // the rank gets it by this number; -1: none
  int channel_fd = -1;                      // the rank channel, as pmi_fd
  int cgroup_fd = -1;                       // folder of a cgroup; -1: that of the parent
  bool on_terminal = false;                 // leads a session on the terminal stdout_fd
  bool suspended = false;                   // stops right after exec
  std::vector<unsigned long> processors{};  // by affinity_mask(); empty: those of the parent
  std::vector<unsigned long> memory{};      // preferred NUMA nodes, by affinity_mask()
};

/// The result of a start; `stage` is none if the program runs.
struct SpawnResult {
  pid_t pid = 0;
  Exited::Stage stage = Exited::Stage::none;
  int error_number = 0;
};

/// Forks, executes, and waits until exec has worked or failed. The rank leads a process group, and
/// gets default signals, no other descriptors than pmi_fd and channel_fd, and SIGKILL when this
/// process dies. Only async-signal-safe calls run between fork and exec.
SpawnResult spawn_rank(const SpawnSetup& setup);

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
