// Starts the main process of one rank: environment, signals, session, folder, exec.
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
  bool cwd_or_root = false;  // where cwd cannot be entered "/" will do, with a line on stderr
  std::uint32_t umask = 022;
  std::vector<LimitToSet> limits{};
  int stdin_fd = -1;  // -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  int cgroup_fd = -1;                       // folder of a cgroup; -1: the parent's
  bool on_terminal = false;                 // stdout_fd is one, and becomes the rank's own
  std::vector<unsigned long> processors{};  // as affinity_mask() has them; empty: the parent's
  std::vector<unsigned long> memory{};      // NUMA nodes preferred, likewise
};

/// How the start went; `stage` is none if the program runs.
struct SpawnResult {
  pid_t pid = 0;
  Exited::Stage stage = Exited::Stage::none;
  int error_number = 0;
};

/// Later lists win; a name comes out once.
EnvList merge_env(const std::vector<const EnvList*>& lists);
/// This process's own environment.
EnvList environment_of_this_process();
/// The files that exec should try for argv[0], in order.
std::vector<std::string> exec_candidates(const std::string& program, const EnvList& env);

/// Forks and execs; waits until exec has happened or failed. The rank has its own session, default
/// signals and mask, no other descriptors, and dies with this process.
SpawnResult spawn_rank(const SpawnSetup& setup);

}  // namespace ds::launcher
