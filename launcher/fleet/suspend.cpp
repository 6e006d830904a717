#include "launcher/fleet/suspend.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

bool is_in_foreground() {
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return terminal && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

}  // namespace

void suspend_this_process(bool asked) {
  // Slurm and other programs that suspend jobs send TSTP too, to processes without a terminal.
  if (asked || !is_in_foreground()) {
    ::kill(::getpid(), SIGSTOP);
    return;
  }
  struct sigaction usual {}, own{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &usual, &own);
  ::raise(SIGTSTP);  // ignored by an orphaned process group (POSIX.1-2017, 2.4.3)
  ::sigaction(SIGTSTP, &own, nullptr);
}

}  // namespace ds::launcher
