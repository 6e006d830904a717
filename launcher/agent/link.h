// The guard of a node, and what the links guard, agent and shims share: signals as a descriptor, a
// watch on the parent, and clean processes.
#pragma once

#include <signal.h>
#include <time.h>

#include <optional>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {

/// Signal that the kernel sends when the parent dies.
inline constexpr int kParentDied = SIGUSR2;
/// How long a link goes on killing processes that do not die.
inline constexpr std::chrono::seconds kKillLimit{20};

/// A link that resists stops goes on by itself after this time. The link's neighbors notice the
/// stop earlier.
inline constexpr std::chrono::seconds kStopLimit{2};
/// Signal from an agent to its guard: resist stops from now on.
inline constexpr int kResistStops = SIGUSR1;

/// Makes this process a link: a subreaper that gets a signal when its parent dies. All signals are
/// blocked and read from signals(); SIGPIPE is ignored.
class Link {
 public:
  /// `parent` is the pid of the link above; 0: none, and the death of the parent is ignored.
  explicit Link(pid_t parent);

  [[nodiscard]] int signals() const { return signal_fd_.get(); }
  struct Seen {
    bool child = false;      // a child has changed its state
    bool terminate = false;  // TERM, INT or HUP for this process
    bool resist = false;     // kResistStops
    bool step_told = false;  // Slurm sent TERM to the whole step, ranks included: end_with_step()
    bool went_on = false;    // this process did not run for kStopLimit, perhaps because of a stop
  };
  /// Lets the kernel send SIGCONT to this process when it has not called read_signals() for
  /// kStopLimit. A process that is only slow is not affected.
  void resist_stops();
  /// Reads all pending signals. Must be called at least every 0.5 s.
  Seen read_signals();
  /// Returns true if the link above has died.
  [[nodiscard]] bool orphaned() const { return parent_ != 0 && ::getppid() != parent_; }

 private:
  void put_off_wake_up();

  pid_t parent_;
  UniqueFd signal_fd_;
  std::optional<timer_t> wake_up_;
};

/// Makes this process, and links forked from it, ignore TERM. For agents of a Slurm step: Slurm
/// sends TERM to every process of the step, and the root decides. The variable says the same to a
/// guard that is executed; the guard removes it from its environment.
void end_with_step();
inline constexpr const char* kEndsWithStep = "DSLAUNCH_ENDS_WITH_STEP";

/// Forks a process that runs `run` and exits with its result, or with 1 after an exception: the
/// parent sees that it has ended. Returns its pid; negative if fork(2) has failed.
pid_t fork_link(FunctionRef<int()> run);

/// Blocks all signals and returns the old mask. Called before fork, so that a new link never runs
/// the handlers of its parent.
sigset_t block_all_signals();
void restore_signals(const sigset_t& mask);
/// Resets all signal handlers. Called after fork with all signals blocked, because the descriptors
/// that the handlers use are about to be closed.
void forget_handlers();
/// Moves the descriptors `kept` to 3, 4, ... in their order, opens /dev/null as 0, 1 and 2, and
/// closes all others.
/// Errors:  Error{system} if the process runs out of descriptors.
void keep_only(std::vector<int>& kept);

/// Runs a guard, the first process of a job on a node, and below it an agent on these descriptors;
/// kills what the agent leaves. Returns the exit code of the agent.
/// Called at the start of a process that becomes a guard: forked with all signals blocked, or
/// executed as `dslaunch agent`. `root` is the launcher if it runs on this machine.
/// Promise: when it returns, nothing that was started below it is left, unless the agent returned
///          kLeavesProcesses.
int run_guard(int in_fd, int out_fd, const ProcessRef& root = {});

}  // namespace ds::launcher
