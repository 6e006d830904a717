// First process of a pod: forks, forwards signals to the child and reaps orphans.
#include "launcher/commands/pods/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"

namespace ds::launcher {

namespace {

/// Reaps all ended children. Returns the exit code of `child` if it is among them.
std::optional<int> reap(pid_t child) {
  std::optional<int> code;
  int status = 0;
  while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid < 0) break;
    if (pid == child) code = ExitStatus::from_wait_status(status).shell_code();
  }
  return code;
}

int serve(pid_t child, const sigset_t& all) {
  while (true) {
    if (const auto code = reap(child)) return *code;  // all other processes end with this one
    siginfo_t info{};
    const int signo = ::sigwaitinfo(&all, &info);
    // Signals from terminal keys go to the whole group: the child already has them.
    if (signo > 0 && signo != SIGCHLD && info.si_code != SI_KERNEL) ::kill(child, signo);
  }
}

}  // namespace

std::optional<int> go_on_below_first_process(void (*in_first)()) {
  if (::getpid() != 1) return std::nullopt;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  for (const int own_trouble : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
    ::sigdelset(&all, own_trouble);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::fork();
  if (child < 0) throw_errno("cannot start a process", errno, "see the pod's limit of pids");
  if (child > 0) {
    in_first();
    return serve(child, all);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

int wait_for_end_signal() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signo : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signo);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  int signo = 0;
  while (::sigwait(&ends, &signo) != 0) {
  }
  return signo;
}

}  // namespace ds::launcher
