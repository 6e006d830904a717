// Says why a rank died beyond its exit status: out of memory, core dump, full /dev/shm.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/deadline.h"
#include "launcher/agent/cgroups.h"

namespace ds::launcher {

/// Facts collected on the node when a rank died.
struct DeathFacts {
  int wait_status = 0;
  pid_t pid = 0;
  std::string cwd{};                            // working directory of the rank
  std::uint64_t oom_kills = 0;                  // in its cgroup, since the start
  std::optional<std::uint64_t> memory_limit{};  // of that cgroup, in bytes
  std::string kernel_line{};                    // about this pid, from the kernel's log
  std::string core_pattern{};                   // /proc/sys/kernel/core_pattern
  bool core_uses_pid = false;
  std::uint64_t shm_bytes = 0;  // size of /dev/shm; 0: it does not exist
  std::uint64_t shm_free = 0;
};

/// Returns one line for a message; empty if there is nothing to add.
std::string describe_death(const DeathFacts& facts);

/// Returns true if a line of the kernel's log says that the OOM killer killed this process.
bool names_oom_victim(std::string_view line, pid_t pid);

/// Collects the facts about a death on the node. One object serves all ranks. Threads: one.
class Autopsy {
 public:
  /// Called before the ranks start: records how often the kernel has killed so far.
  void begin();
  /// Returns why a rank has just died; empty if the node knows no more than its status. `cwd` is
  /// the working directory of the rank (empty: that of this process). Takes some milliseconds after
  /// SIGKILL.
  [[nodiscard]] std::string explain(int wait_status, pid_t pid, const std::string& cwd) const;

 private:
  MemoryCgroup cgroup_;
  std::optional<std::uint64_t> kills_before_;
  Clock::time_point started_;
};

}  // namespace ds::launcher
