// Starts a detached thread whose signals are blocked from its first instruction.
#include "engine/base/helper_thread.h"

#include <signal.h>

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/error.h"

namespace ds {

void start_helper_thread(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::error_code> refusal;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    refusal = error.code();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (refusal)
    throw Error(ErrorKind::system, "cannot start another thread: " + refusal->message(),
                "this user may have reached a limit on processes and threads: ulimit -u, or "
                "pids.max of a container");
}

}  // namespace ds
