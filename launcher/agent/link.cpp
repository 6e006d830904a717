#include "launcher/agent/link.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

bool step_ends_us = false;  // of this process and its forks

}  // namespace

Link::Link(pid_t parent) : parent_(parent) {
  block_all_signals();
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (parent_ != 0) ::prctl(PR_SET_PDEATHSIG, kParentDied, 0, 0, 0);
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signo : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGCONT, kParentDied, kResistStops})
    ::sigaddset(&watched, signo);
  signal_fd_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd_) throw_errno("cannot watch signals", errno);
}

void Link::resist_stops() {
  if (wake_up_) return;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCONT;
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
    throw_errno("cannot make a timer", errno);
  wake_up_ = timer;
  put_off_wake_up();
}

void Link::put_off_wake_up() {
  if (!wake_up_) return;
  itimerspec span{};
  span.it_value.tv_sec = std::chrono::seconds(kStopLimit).count();
  ::timer_settime(*wake_up_, 0, &span, nullptr);
}

Link::Seen Link::read_signals() {
  Seen seen;
  put_off_wake_up();
  signalfd_siginfo info;
  while (::read(signal_fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signo = static_cast<int>(info.ssi_signo);
    if (signo == SIGCHLD) seen.child = true;
    if (signo == kResistStops) seen.resist = true;
    if (signo == SIGCONT && info.ssi_code == SI_TIMER) seen.went_on = true;
    if (signo == SIGTERM) (step_ends_us ? seen.step_told : seen.terminate) = true;
    if (signo == SIGINT || signo == SIGHUP) seen.terminate = true;
  }
  return seen;
}

void end_with_step() { step_ends_us = true; }

bool Link::orphaned() const { return parent_ != 0 && ::getppid() != parent_; }

sigset_t block_all_signals() {
  sigset_t all;
  sigset_t old;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &old);
  return old;
}

void restore_signals(const sigset_t& mask) { ::sigprocmask(SIG_SETMASK, &mask, nullptr); }

void forget_handlers() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signo = 1; signo < NSIG; ++signo) ::sigaction(signo, &plain, nullptr);
}

void keep_only(std::vector<int>& kept) {
  // The parent may have reached its limit of descriptors, so others are closed first.
  std::vector<int> sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  unsigned from = 0;
  for (const int fd : sorted) {
    const auto at = static_cast<unsigned>(fd);
    if (at > from) ::syscall(SYS_close_range, from, at - 1, 0U);
    from = at + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, 0U);
  // Two steps: above all new places first, then into them.
  const int above = 3 + static_cast<int>(kept.size());
  bool worked = true;
  for (int& fd : kept) worked = (fd = ::fcntl(fd, F_DUPFD_CLOEXEC, above)) >= 0 && worked;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) worked = (fd == null || ::dup2(null, fd) >= 0) && worked;
  int next = 3;
  for (int& fd : kept) {
    worked = ::dup3(fd, next, O_CLOEXEC) >= 0 && worked;
    fd = next++;
  }
  // A rank must not inherit foreign descriptors.
  if (!worked) throw_errno("cannot arrange the descriptors of a new process", errno);
  ::syscall(SYS_close_range, static_cast<unsigned>(above), ~0U, 0U);
}

}  // namespace ds::launcher
