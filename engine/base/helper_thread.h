// Starts detached helper threads beside the main thread.
#pragma once

#include <functional>

namespace ds {

/// Runs `work` on its own detached thread, which ends with `work` or with the process. Everything
/// that `work` uses must live as long. All signals are blocked in the thread, because the main
/// thread handles them.
/// Errors:  Error{system} if no thread can be started; `work` then never runs.
void start_helper_thread(std::function<void()> work);

}  // namespace ds
