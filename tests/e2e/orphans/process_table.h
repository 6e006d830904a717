// Snapshot of the processes of this machine, from /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace ds::test {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';  // of proc(5): R, S, T (stopped), Z (zombie), ...
  std::string name;
};

/// All processes whose environment, as they started, holds the text `cookie`. Zombies have none
/// left and so never count.
std::vector<Process> processes_with(const std::string& cookie);

/// The children of `parent` among `processes`, by pid.
std::vector<Process> children_of(const std::vector<Process>& processes, pid_t parent);

}  // namespace ds::test
