// A PID namespace for the ranks of a node: whoever kills its init, or the agent above it, kills all
// that is in it.
#pragma once

#include <sys/types.h>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/agent/process_tree.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// What the agent forks after enter() lives in the namespace, with a /proc of its own; the agent
/// stays outside and sees it through the /proc it had before. The kernel kills everything inside
/// when init dies, and init when the agent dies: no set of kills leaves anything.
/// Threads: one; the process must have no other.
class PidNamespace {
 public:
  /// Makes it, once. Where the system refuses: Isolate::if_free leaves things as they are,
  /// Isolate::required is an Error{system} that says what is missing. A user namespace is made too
  /// where nothing less works and it is required; for if_free never.
  void enter(Isolate wish);
  [[nodiscard]] bool entered() const { return init_ != 0; }
  /// Its first process, as the agent sees it; 0 if there is none (any more).
  [[nodiscard]] pid_t init() const { return init_; }
  [[nodiscard]] bool init_stopped() { return init_ != 0 && watch_.stopped_twice(); }

  /// Kills all that is inside but init. False if something is left at the deadline.
  bool clear(Deadline deadline);
  /// Kills all of it; init must then be reaped.
  void kill();
  [[nodiscard]] bool ending() const { return ending_; }
  void init_reaped() { init_ = 0; }

 private:
  pid_t init_ = 0;
  bool ending_ = false;
  UniqueFd control_;
  StopWatch watch_;
};

/// The pid by which this process knows the child of `shim` that is `inner` in its own namespace;
/// `inner` if there is none such.
pid_t pid_of_rank(pid_t shim, pid_t inner);

}  // namespace ds::launcher
