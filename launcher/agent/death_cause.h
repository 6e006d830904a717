// Why a rank died, as far as the node can tell beyond its exit status.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// What was learnt on the node when a rank died.
struct DeathFacts {
  int wait_status = 0;
  pid_t pid = 0;
  std::string cwd{};                            // where the rank was started
  std::uint64_t oom_kills = 0;                  // in the rank's cgroup, since it was started
  std::optional<std::uint64_t> memory_limit{};  // of that cgroup
  std::string kernel_line{};                    // what the kernel's log says of this pid
  std::string core_pattern{};                   // /proc/sys/kernel/core_pattern
  bool core_uses_pid = false;
  std::uint64_t shm_bytes = 0;  // of /dev/shm; 0: there is none
  std::uint64_t shm_free = 0;
};

/// One line for people, or nothing. Pure.
std::string describe_death(const DeathFacts& facts);

/// True for a line of the kernel's log that says that this process was killed for want of memory.
bool names_oom_victim(std::string_view line, pid_t pid);

}  // namespace ds::launcher
