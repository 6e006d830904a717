// Gathers on the node what describe_death wants to know.
#pragma once

#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/agent/death_cause.h"
#include "launcher/agent/memory_cgroup.h"

namespace ds::launcher {

/// One for all ranks of a node. Threads: one.
class Autopsy {
 public:
  /// The ranks are about to start: remembers what the kernel has killed before.
  void begin();
  /// Why this rank has just died; empty if there is nothing to add to its status. `cwd` is where it
  /// was started (empty: where this process is). Takes some milliseconds if it was killed.
  [[nodiscard]] std::string explain(int wait_status, pid_t pid, const std::string& cwd) const;

 private:
  MemoryCgroup cgroup_;
  std::optional<std::uint64_t> kills_before_;
  Clock::time_point started_;
};

}  // namespace ds::launcher
