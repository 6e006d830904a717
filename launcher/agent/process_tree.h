// References to processes, their states in /proc, and killing of all descendants of this process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/agent/proc_files.h"

namespace ds::launcher {

/// Refers to one process. The start time distinguishes it from a later process with the same pid.
class ProcessRef {
 public:
  enum class State { gone, zombie, stopped, alive };

  ProcessRef() = default;
  static ProcessRef of(pid_t pid);
  static ProcessRef of(pid_t pid, std::uint64_t start_time);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }
  /// Returns the state. `stopped` is by SIGSTOP and the like; a traced process counts as alive.
  [[nodiscard]] State state() const;
  [[nodiscard]] bool lives() const;
  /// Sends KILL, if the pid still belongs to this process.
  void kill() const;

 private:
  pid_t pid_ = 0;
  std::uint64_t start_time_ = 0;
};

/// Detects that a neighbor is stopped for good: it is found stopped twice, 0.5 s apart. Once is not
/// enough, because a scheduler suspends and resumes a job process by process.
class StopWatch {
 public:
  static constexpr std::chrono::milliseconds kPeriod{500};
  StopWatch() = default;
  explicit StopWatch(ProcessRef process) : process_(process) {}
  /// Returns true if the process is stopped now and was at the last call. Called every kPeriod.
  [[nodiscard]] bool stopped_twice();
  /// Returns true if the last call found the process stopped.
  [[nodiscard]] bool suspects() const { return stopped_before_; }
  [[nodiscard]] const ProcessRef& process() const { return process_; }

 private:
  ProcessRef process_;
  bool stopped_before_ = false;
};

// Names of the links in ps.
inline constexpr const char* kGuardName = "dsguard";
inline constexpr const char* kAgentName = "dslaunch";
inline constexpr const char* kShimName = "dsshim";
/// Returns true for a shim that still has children.
bool is_shim_with_children(pid_t pid);

/// Kills and reaps direct children until there are none. Their children come back by reparenting,
/// because this process is a subreaper. The pid of a child is not reused before it is reaped, so no
/// other process is hit. `reaped` is called with `context`, pid and wait status of each.
/// Returns false if children are left at the deadline, stuck in the kernel.
bool kill_children_until_none(Deadline deadline, void (*reaped)(void*, pid_t, int) = nullptr,
                              void* context = nullptr);

/// Sends a signal to all descendants of this process, and to those that appear meanwhile.
void signal_descendants(int signo);

/// Sets the name of this process (comm) and its command line in ps. `title` is cut to the length of
/// the original command line.
void set_process_title(const char* name, const char* title);

}  // namespace ds::launcher
