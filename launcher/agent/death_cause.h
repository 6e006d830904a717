// Words the cause of a death beyond the exit status: out of memory, core dump, full /dev/shm. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace ds::launcher
