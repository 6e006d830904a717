// Autopsy: collects on the node the facts about a death that describe_death() needs.
#pragma once

#include <optional>
#include <string>

#include "engine/base/deadline.h"
#include "launcher/agent/death_cause.h"
#include "launcher/agent/memory_cgroup.h"

namespace ds::launcher {

/// One object serves all ranks of a node. Threads: one.
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
