// Helper threads beside the main thread, which handles all signals.
#pragma once

#include <signal.h>

#include <functional>

namespace ds {

/// Blocks all signals of the calling thread. Threads that are started while it lives take none.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Runs `work` on its own detached thread, which ends with `work` or with the process. Everything
/// that `work` uses must live as long. All signals are blocked in the thread, because the main
/// thread handles them.
/// Errors:  Error{system} if no thread can be started; `work` then never runs.
void start_helper_thread(std::function<void()> work);

}  // namespace ds
