// What guard, agent and shims have in common: signals as a descriptor, an eye on the parent.
#pragma once

#include <signal.h>
#include <time.h>

#include <optional>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {

/// Arrives when the parent dies.
inline constexpr int kParentDied = SIGUSR2;
/// How long a link goes on killing what does not die.
inline constexpr std::chrono::seconds kKillLimit{20};

/// A link that resists stops goes on by itself after this: its neighbours see it stopped before.
inline constexpr std::chrono::seconds kStopLimit{2};
/// From an agent to its guard: resist stops.
inline constexpr int kResistStops = SIGUSR1;

/// Makes this process a link: a subreaper that hears of its parent's death; signals are blocked and
/// come through signals(); SIGPIPE is ignored.
class Link {
 public:
  /// `parent` is the neighbour above (0: whoever it is; then its death means nothing).
  explicit Link(pid_t parent);

  [[nodiscard]] int signals() const { return signal_fd_.get(); }
  struct Seen {
    bool child = false;      // children have changed
    bool terminate = false;  // TERM, INT or HUP for this process
    bool resist = false;     // kResistStops
    bool step_told = false;  // TERM came to all of a Slurm step, ranks too: see end_with_step()
    bool went_on = false;    // this process did not run for kStopLimit; if it was stopped, no more
  };
  /// From now on the kernel wakes this process by SIGCONT when it has not called read_signals() for
  /// kStopLimit. Does nothing to a process that is only slow.
  void resist_stops();
  /// Empties the descriptor; to be called each half second at least.
  Seen read_signals();
  /// The neighbour above has died; this process belongs to somebody else now.
  [[nodiscard]] bool orphaned() const;
  [[nodiscard]] const ProcessRef& parent() const { return parent_ref_; }

 private:
  void put_off_wake_up();

  pid_t parent_;
  ProcessRef parent_ref_;
  UniqueFd signal_fd_;
  std::optional<timer_t> wake_up_;
};

/// In an agent that a step of srun has started: Slurm sends TERM to every process of the step at
/// once, and the root makes one decision of it. Links that are forked from now on leave it at that.
/// The variable says so to a guard that is executed instead; it takes it out of the environment.
void end_with_step();
bool ends_with_step();
inline constexpr const char* kEndsWithStep = "DSLAUNCH_ENDS_WITH_STEP";

/// Blocks all signals; to be called before fork, so that a new link is never hit in its parent's
/// handlers. Returns the old mask.
sigset_t block_all_signals();
void restore_signals(const sigset_t& mask);
/// After fork, all blocked: forgets the handlers of the parent (their descriptors are about to be
/// closed).
void forget_handlers();
/// Keeps `kept` (moved to 3, 4, ... in their order), /dev/null as 0, 1 and 2, and nothing else.
/// Errors:  Error{system} if there are not enough descriptors.
void keep_only(std::vector<int>& kept);

}  // namespace ds::launcher
