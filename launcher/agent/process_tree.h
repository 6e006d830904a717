// Reads /proc, refers to processes by pid and start time, and kills all descendants of this
// process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/function_ref.h"

namespace ds::launcher {

/// Makes this process read the /proc that is mounted now, also after another mount over it.
void keep_proc();
/// Makes this process read the topmost /proc again.
void forget_proc();

/// Return the content of a file, or its first line without the newline; empty if it cannot be read.
std::string read_small_file(const char* path);
std::string first_line_of(const std::string& path);
/// Return the content of a file below /proc or /proc/PID, as in read_proc("self/cgroup").
std::string read_proc(const std::string& name);
std::string read_proc(pid_t pid, const std::string& name);

/// Return the name (comm) and the parent; empty or 0 if the process does not exist.
std::string name_of(pid_t pid);
pid_t parent_of(pid_t pid);
/// Returns a field of /proc/PID/stat, counted from 1 as in proc(5), from the third on; empty if the
/// process does not exist.
std::string stat_field(pid_t pid, int number);

std::vector<pid_t> all_processes();
/// Returns the children of all threads of a process.
std::vector<pid_t> children_of(pid_t pid);
/// Returns the direct children of this process, zombies included. Threads: the process has one.
std::vector<pid_t> own_children();

/// Refers to one process. The start time distinguishes it from a later process with the same pid.
class ProcessRef {
 public:
  enum class State { gone, zombie, stopped, alive };

  ProcessRef() = default;
  static ProcessRef of(pid_t pid);
  static ProcessRef of(pid_t pid, std::uint64_t start_time) { return {pid, start_time}; }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }
  /// Returns the state. `stopped` is by SIGSTOP and the like; a traced process counts as alive.
  [[nodiscard]] State state() const;
  [[nodiscard]] bool lives() const;
  /// Returns whether a debugger has stopped the process.
  [[nodiscard]] bool is_traced() const { return pid_ > 0 && stat_field(pid_, 3) == "t"; }
  /// Sends KILL, if the pid still belongs to this process.
  void kill() const;

 private:
  ProcessRef(pid_t pid, std::uint64_t start_time) : pid_(pid), start_time_(start_time) {}
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
/// Kills and reaps direct children until there are none. Their children come back by reparenting,
/// because this process is a subreaper. The pid of a child is not reused before it is reaped, so no
/// other process is hit. `reaped` is called with pid and wait status of each. Returns at the
/// deadline if children are stuck in the kernel.
void kill_children_until_none(const Deadline& deadline, FunctionRef<void(pid_t, int)> reaped);

/// Sends a signal to all descendants of this process, and to those that appear meanwhile.
void signal_descendants(int signo);

/// Sets the name of this process (comm) and its command line in ps. `title` is cut to the length of
/// the original command line.
void set_process_title(const char* name, const char* title);

}  // namespace ds::launcher
