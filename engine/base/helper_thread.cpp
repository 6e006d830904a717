// Starts a detached thread whose signals are blocked from its first instruction.
#include "engine/base/helper_thread.h"

#include <system_error>
#include <thread>
#include <utility>

#include "engine/base/error.h"

namespace ds {

void start_helper_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::system, "cannot start another thread: " + error.code().message(),
                "this user may have reached a limit on processes and threads: ulimit -u, or "
                "pids.max of a container");
  }
}

}  // namespace ds
