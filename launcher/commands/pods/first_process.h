// Duties of a pod's first process: forwarding signals and reaping orphans.
#pragma once

#include <optional>

namespace ds::launcher {

/// Splits the first process of a PID namespace (a pod's entrypoint) in two. Such a process has no
/// default actions for signals and becomes the parent of orphans. The program therefore continues
/// in a child; the first process forwards signals to the child, reaps orphans, and exits as the
/// child does. In any other process this does nothing and returns nothing. Call it before anything
/// else, with one thread and no signal handlers. The first process calls `in_first` after the fork,
/// so that secrets are hidden there too. Returns the exit code in the first process and nothing in
/// the child. Errors:  Error{system}.
std::optional<int> go_on_below_first_process(void (*in_first)());

/// Blocks until TERM, INT or HUP arrives and returns the signal.
int wait_for_end_signal();

}  // namespace ds::launcher
