// PidNamespace: a PID namespace for the ranks of a node, which the kernel empties when its init
// dies.
#pragma once

#include <sys/types.h>

#include <utility>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/agent/process_tree.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Processes that the agent forks after enter() live in the namespace and have their own /proc. The
/// agent stays outside and sees them in the /proc it had before. The kernel kills init when the
/// agent dies, and everything inside when init dies.
/// Threads: one; the process must have no other thread.
class PidNamespace {
 public:
  /// Makes the namespace; later calls do nothing. For Isolate::required a user namespace is made,
  /// too, if nothing less works.
  /// Errors:  Error{system} with Isolate::required if the system refuses; if_free then does
  /// nothing.
  void enter(Isolate mode);
  [[nodiscard]] bool entered() const { return init_ != 0; }
  [[nodiscard]] bool init_stopped() { return init_ != 0 && watch_.stopped_twice(); }
  /// Called for each reaped child. Returns true if it was init, and kill() was not called.
  [[nodiscard]] bool lost_init(pid_t reaped) {
    return reaped == init_ && std::exchange(init_, 0) != 0 && !ending_;
  }

  /// Kills all processes inside except init. Returns false if one is left at the deadline.
  bool clear(Deadline deadline);
  /// Kills everything inside, and init, which must then be reaped.
  void kill();

 private:
  pid_t init_ = 0;
  bool ending_ = false;
  UniqueFd control_;
  StopWatch watch_;
};

/// Returns the pid, as this process sees it, of the child of `shim` that has the pid `inner` in its
/// own namespace; `inner` if there is no such child.
pid_t pid_of_rank(pid_t shim, pid_t inner);

}  // namespace ds::launcher
