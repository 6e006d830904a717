#include "launcher/agent/guard.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

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
      code = AgentLoop(setup).run();
    } catch (...) {  // The root sees that the channel ends.
    }
    ::_exit(code);
  }
  return pid;
}

/// Returns true if the child was stopped or continued since the last call.
bool has_been_stopped(pid_t child) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WCONTINUED | WNOHANG);
  return info.si_pid == child;
}

/// An event of the agent and the end of a stop of this process within this time belong together.
/// The event may come just before this process is stopped.
constexpr Clock::duration kTogether = kStopLimit + std::chrono::seconds(1);

/// Waits for the agent; returns its exit code, or 1 if it was killed or is stopped. The kernel
/// reports the stop of a child, so that a running agent needs no polling.
int wait_for_agent(Link& link, pid_t agent) {
  StopWatch watch(ProcessRef::of(agent));
  std::optional<Clock::time_point> agent_event;
  std::optional<Clock::time_point> went_on;
  std::optional<Clock::time_point> next_look;
  bool resists = false;
  while (true) {
    pollfd signals{link.signals(), POLLIN, 0};
    const auto rest = next_look ? Deadline(*next_look).remaining() : std::chrono::milliseconds(-1);
    ::poll(&signals, 1, static_cast<int>(rest.count()));
    const Link::Seen seen = link.read_signals();
    if (seen.terminate) ::kill(agent, SIGTERM);
    if (seen.resist) link.resist_stops();
    resists = resists || seen.resist;
    const Clock::time_point now = Clock::now();
    const bool event = has_been_stopped(agent);
    if (event) agent_event = now;
    if (seen.went_on) went_on = now;
    // Both were stopped together and went on by themselves (Link::resist_stops): no other process
    // saw it. A slow machine alone is not taken for that.
    if (agent_event && went_on && std::chrono::abs(*agent_event - *went_on) <= kTogether) return 1;
    int status = 0;
    while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid == agent) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (pid < 0) return 1;
    }
    if ((event || resists) && !next_look) next_look = now + StopWatch::kPeriod;
    if (!next_look || now < *next_look) continue;
    if (watch.stopped_twice()) return 1;
    next_look.reset();
    if (watch.suspects()) next_look = now + StopWatch::kPeriod;
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
