// Starts the main process of a rank: environment, signals, session, working directory, exec.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/agent/limits.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct SpawnSetup {
  std::vector<std::string> argv;
  EnvList env;  // complete
  std::string cwd;
  bool cwd_or_root = false;  // if cwd cannot be entered: "/", with a line on stderr
  std::uint32_t umask = 022;
  std::vector<LimitToSet> limits{};
  int stdin_fd = -1;  // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  int cgroup_fd = -1;                       // folder of a cgroup; -1: that of the parent
  bool on_terminal = false;                 // stdout_fd becomes the controlling terminal
  std::vector<unsigned long> processors{};  // by affinity_mask(); empty: those of the parent
  std::vector<unsigned long> memory{};      // preferred NUMA nodes, by affinity_mask()
};

/// The result of a start; `stage` is none if the program runs.
struct SpawnResult {
  pid_t pid = 0;
  Exited::Stage stage = Exited::Stage::none;
  int error_number = 0;
};

/// Merges lists of variables; later lists override earlier ones.
EnvList merge_env(const std::vector<const EnvList*>& lists);
/// Returns the environment of this process.
EnvList environment_of_this_process();
/// Returns the files to try for argv[0], in order.
std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env);

/// Forks, executes, and waits until exec has worked or failed. The rank gets its own session,
/// default signals, no other descriptors, and SIGKILL when this process dies. Only
/// async-signal-safe calls run between fork and exec.
SpawnResult spawn_rank(const SpawnSetup& setup);

}  // namespace ds::launcher
