// Threads beside the main one that nobody waits for.
#pragma once

#include <functional>

namespace ds {

/// Runs `work` on a thread of its own, which ends with it or with the process; what it uses must
/// live as long as it does. Signals are for the main thread: all are blocked in this one.
/// Errors:  Error{system} if no thread can be started; `work` then never runs.
void start_helper_thread(std::function<void()> work);

}  // namespace ds
