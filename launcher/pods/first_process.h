// The duties of the first process of a pod, so that the program itself need not know of them.
#pragma once

#include <optional>

namespace ds::launcher {

/// Where this process is the first one of a PID namespace, as a pod's entrypoint is, signals have
/// no default action and orphans come to it: then it goes on in a child, and this one hands
/// signals on to that, reaps what comes, and ends as the child does. Nothing in all other places.
/// To be called before anything else: one thread, no signal handlers. `in_first` is called in the
/// first process once it is that alone: there, as everywhere, secrets are to be hidden.
/// Returns the exit code in the first process, nothing in the one that goes on.
/// Errors:  Error{system}.
std::optional<int> go_on_below_first_process(void (*in_first)());

/// Until TERM, INT or HUP comes. Returns which.
int wait_for_end_signal();

}  // namespace ds::launcher
