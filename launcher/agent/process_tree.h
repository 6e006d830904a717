// Looks at processes through /proc, and ends everything that this process has made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/agent/proc_files.h"

namespace ds::launcher {

/// One process, told apart from a later one of the same number by its start time.
class ProcessRef {
 public:
  enum class State { gone, zombie, stopped, alive };

  ProcessRef() = default;
  static ProcessRef of(pid_t pid);
  static ProcessRef of(pid_t pid, std::uint64_t start_time);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }
  /// `stopped` is SIGSTOP and its like; a process held by a debugger is alive.
  [[nodiscard]] State state() const;
  [[nodiscard]] bool lives() const;
  /// KILL, if it is still this process.
  void kill() const;

 private:
  pid_t pid_ = 0;
  std::uint64_t start_time_ = 0;
};

/// Says when a neighbour has been stopped for good: found so in two looks, half a second apart,
/// since a whole job may be suspended and resumed process by process.
class StopWatch {
 public:
  static constexpr std::chrono::milliseconds kPeriod{500};
  StopWatch() = default;
  explicit StopWatch(ProcessRef process) : process_(process) {}
  /// To be called each kPeriod.
  [[nodiscard]] bool stopped_twice();
  /// Found stopped by the last look.
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
/// A shim that still has something to kill.
bool is_shim_with_children(pid_t pid);

/// Kills direct children and reaps them, again and again, until there are none: what they made
/// comes back by reparenting, as this process is a subreaper. A pid of a child cannot be reused
/// before it is reaped, so no stranger is hit. Returns false if some are left at the deadline
/// (stuck in the kernel). `status_of` is called with each reaped (pid, wait status).
bool kill_children_until_none(Deadline deadline, void (*reaped)(void*, pid_t, int) = nullptr,
                              void* context = nullptr);

/// Sends a signal to all descendants of this process; again while new ones appear.
void signal_descendants(int signo);

/// Name in ps and pkill, and its command line there. `title` is cut to the room of the original
/// one.
void set_process_title(const char* name, const char* title);

}  // namespace ds::launcher
