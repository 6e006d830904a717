#include "launcher/agent/guard.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "engine/base/error.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/link.h"

namespace ds::launcher {
namespace {

/// Time that shims have to kill their ranks by themselves.
constexpr std::chrono::seconds kPatience{1};

pid_t fork_agent(const AgentSetup& setup, int guard_signals) {
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("cannot start the agent", errno, "see `ulimit -u`");
  if (pid == 0) {
    int code = 1;
    try {
      ::close(guard_signals);
      set_process_title(kAgentName, "dslaunch agent");
      code = run_agent(setup);
    } catch (...) {  // The root sees that the channel ends.
    }
    ::_exit(code);
  }
  return pid;
}

/// Returns true if the child was stopped or continued since the last call.
bool has_been_stopped(pid_t child) {
  siginfo_t info{};
  const bool told =
      ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0;
  return told && info.si_pid == child;
}

/// Detects that this process and its agent were stopped together and went on by themselves
/// (Link::resist_stops): no other process saw it. A slow machine alone is not taken for that.
class StoppedTogether {
 public:
  bool now(bool agent_event, bool went_on) {
    const Clock::time_point now = Clock::now();
    if (agent_event) agent_event_ = now;
    if (went_on) went_on_ = now;
    return agent_event_ && went_on_ &&
           std::max(*agent_event_ - *went_on_, *went_on_ - *agent_event_) <= kTogether;
  }

 private:
  /// The event may come just before this process is stopped.
  static constexpr Clock::duration kTogether = kStopLimit + std::chrono::seconds(1);
  std::optional<Clock::time_point> agent_event_;
  std::optional<Clock::time_point> went_on_;
};

int poll_timeout(Clock::time_point until) {
  if (until == Clock::time_point::max()) return -1;
  return static_cast<int>(Deadline(until).remaining().count());
}

/// Waits for the agent; returns its exit code, or 1 if it was killed or is stopped. The kernel
/// reports the stop of a child, so that a running agent needs no polling.
int wait_for_agent(Link& link, pid_t agent) {
  StopWatch watch(ProcessRef::of(agent));
  StoppedTogether together;
  Clock::time_point next_look = Clock::time_point::max();
  bool resists = false;
  while (true) {
    pollfd signals{link.signals(), POLLIN, 0};
    ::poll(&signals, 1, poll_timeout(next_look));
    const Link::Seen seen = link.read_signals();
    if (seen.terminate) ::kill(agent, SIGTERM);
    if (seen.resist) link.resist_stops();
    resists = resists || seen.resist;
    const bool event = has_been_stopped(agent);
    if (together.now(event, seen.went_on)) return 1;
    int status = 0;
    while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid == agent) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (pid < 0) return 1;
    }
    const Clock::time_point now = Clock::now();
    if (event || resists) next_look = std::min(next_look, now + StopWatch::kPeriod);
    if (now < next_look) continue;
    if (watch.stopped_twice()) return 1;
    next_look = watch.suspects() ? now + StopWatch::kPeriod : Clock::time_point::max();
  }
}

/// Returns true for a shim that is still killing its rank. Shims notice by themselves that the
/// agent is gone. They are killed last, so that no rank is without a link if this process is
/// killed, too.
bool still_works(pid_t child, Clock::time_point now, Clock::time_point patience) {
  return now < patience && is_shim_with_children(child) &&
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

int run_guard(int in_fd, int out_fd, const ProcessRef& root) {
  block_all_signals();
  forget_handlers();
  if (::getenv(kEndsWithStep) != nullptr) {
    end_with_step();
    ::unsetenv(kEndsWithStep);
  }
  ::setsid();  // Only the launcher gets the keys of the terminal.
  std::vector<int> kept = {in_fd, out_fd};
  keep_only(kept);
  // The name differs from the launcher's, so that `pkill -9 dslaunch` spares the guard.
  set_process_title(kGuardName, "dsguard");
  Link link(0);
  const AgentSetup setup{.in_fd = kept[0], .out_fd = kept[1], .guard = ::getpid(), .root = root};
  const pid_t agent = fork_agent(setup, link.signals());
  // The root must see the end of the channel when the agent ends.
  for (const int fd : kept) ::close(fd);
  const int code = wait_for_agent(link, agent);
  if (code == kLeavesProcesses) return 0;
  kill_all_below();
  return code;
}

}  // namespace ds::launcher
