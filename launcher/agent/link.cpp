#include "launcher/agent/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "engine/base/error.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/process_settings.h"
#include "launcher/mpi/outer_job.h"

namespace ds::launcher {
namespace {

bool step_ends_us = false;  // of this process and its forks

/// Time that shims have to kill their ranks by themselves.
constexpr std::chrono::seconds kPatience{1};

/// An event of the agent and the end of a stop of this process within this time belong together.
/// The event may come just before this process is stopped.
constexpr Clock::duration kTogether = kStopLimit + std::chrono::seconds(1);

/// Waits for the agent; returns its exit code, or 1 if it was killed or is stopped. The kernel
/// reports the stop of a child, so that a running agent needs no polling.
int wait_for_agent(Link& link, pid_t agent) {
  StopWatch watch(ProcessRef::of(agent));
  std::optional<Clock::time_point> agent_event;
  std::optional<Clock::time_point> went_on;
  constexpr Clock::time_point kNever = Clock::time_point::max();
  Clock::time_point next_look = kNever;
  bool resists = false;
  while (true) {
    pollfd signals{link.signals(), POLLIN, 0};
    const bool waits = next_look == kNever;
    ::poll(&signals, 1, waits ? -1 : static_cast<int>(Deadline(next_look).remaining().count()));
    const Link::Seen seen = link.read_signals();
    if (seen.terminate) ::kill(agent, SIGTERM);
    if (seen.resist) link.resist_stops();
    resists = resists || seen.resist;
    const Clock::time_point now = Clock::now();
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(agent), &info, WSTOPPED | WCONTINUED | WNOHANG);
    const bool event = info.si_pid == agent;  // It was stopped or continued since the last look.
    if (event) agent_event = now;
    if (seen.went_on) went_on = now;
    // Guard and agent were stopped together and went on by themselves (Link::resist_stops): no
    // other process saw it. A slow machine alone is not taken for that.
    if (agent_event && went_on && std::chrono::abs(*agent_event - *went_on) <= kTogether) return 1;
    int status = 0;
    while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid == agent) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (pid < 0) return 1;
    }
    if ((event || resists) && waits) next_look = now + StopWatch::kPeriod;
    if (now < next_look) continue;
    if (watch.stopped_twice()) return 1;
    next_look = watch.suspects() ? now + StopWatch::kPeriod : kNever;
  }
}

/// Returns true for a shim that is still killing its rank. Shims notice by themselves that the
/// agent is gone. They are killed last, so that no rank is without a link if this process is
/// killed, too.
bool still_works(pid_t child, Clock::time_point now, Clock::time_point patience) {
  return now < patience && name_of(child) == kShimName && !children_of(child).empty() &&
         ProcessRef::of(child).state() != ProcessRef::State::stopped;
}

void kill_all_below() {
  const Clock::time_point patience = Clock::now() + kPatience;
  const Deadline deadline = Deadline::after(kKillLimit);
  while (!deadline.passed()) {
    for (const pid_t child : own_children()) {
      if (!still_works(child, Clock::now(), patience)) ::kill(child, SIGKILL);
    }
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return;
    ::usleep(500);  // Death and reparenting of grandchildren send no event.
  }
}

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

pid_t fork_link(FunctionRef<int()> run) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int code = 1;
  try {
    code = run();
  } catch (...) {
  }
  ::_exit(code);
}

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

int run_guard(int in_fd, int out_fd, const ProcessRef& root) {
  block_all_signals();
  forget_handlers();
  if (::getenv(kEndsWithStep) != nullptr) {
    end_with_step();
    ::unsetenv(kEndsWithStep);
  }
  unset_variables(is_place_in_mpi_job);  // Ranks and the PMIx server inherit this environment.
  ::setsid();  // Only the launcher gets the keys of the terminal.
  std::vector<int> kept = {in_fd, out_fd};
  keep_only(kept);
  // The name differs from the launcher's, so that `pkill -9 dslaunch` spares the guard.
  set_process_title(kGuardName, "dsguard");
  Link link(0);
  const AgentSetup setup{.in_fd = kept[0], .out_fd = kept[1], .guard = ::getpid(), .root = root};
  const pid_t agent = fork_link([&] {
    ::close(link.signals());
    set_process_title(kAgentName, "dslaunch agent");
    return AgentLoop(setup).run();
  });
  if (agent < 0) throw_errno("cannot start the agent", errno, "see `ulimit -u`");
  // The root must see the end of the channel when the agent ends.
  for (const int fd : kept) ::close(fd);
  const int code = wait_for_agent(link, agent);
  if (code == kLeavesProcesses) return 0;
  kill_all_below();
  return code;
}

}  // namespace ds::launcher
