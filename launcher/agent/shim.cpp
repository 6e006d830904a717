#include "launcher/agent/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "launcher/agent/cgroups.h"
#include "launcher/agent/link.h"

namespace ds::launcher {
namespace {

/// Time that background processes have to end after the main process.
constexpr std::chrono::seconds kLinger{1};
/// A running guard kills this process within this time; a stopped guard is killed.
constexpr std::chrono::seconds kGuardLimit{4};

class Shim {
 public:
  explicit Shim(const ShimSetup& setup)
      : setup_(setup),
        link_(setup.agent),
        control_(setup.control_fd),
        agent_(ProcessRef::of(setup.agent)),
        guard_(setup.guard),
        next_look_(Clock::now() + StopWatch::kPeriod) {}

  int run() {
    if (!link_.orphaned()) start();
    while (!may_leave_) {
      wait();
      const Link::Seen seen = link_.read_signals();
      if (link_.orphaned() || agent_is_stopped()) return leave_without_agent();
      if (seen.step_told) had_term_ = true;
      if (seen.child) reap();
      if (!read_orders()) return leave_without_agent();
      if (linger_until_ && Clock::now() >= *linger_until_) end_background();
    }
    return 0;
  }

 private:
  void start() {
    const SpawnResult result = spawn_rank(setup_.spawn);
    for (const int fd : {setup_.spawn.stdin_fd, setup_.spawn.stdout_fd, setup_.spawn.stderr_fd,
                         setup_.spawn.pmi_fd, setup_.spawn.channel_fd})
      if (fd >= 0) ::close(fd);
    main_ = result.pid;
    if (result.stage == Exited::Stage::none)
      return report({ShimReport::Kind::started, result.pid, {}});
    report({ShimReport::Kind::failed, result.error_number, result.stage});
    on_empty();
  }

  void wait() {
    Clock::time_point until = next_look_;
    if (linger_until_) until = std::min(until, *linger_until_);
    pollfd watched[] = {{link_.signals(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
    ::poll(watched, 2, static_cast<int>(Deadline(until).remaining().count()));
  }

  /// Returns true if the agent is stopped for good.
  bool agent_is_stopped() {
    if (Clock::now() < next_look_) return false;
    next_look_ = Clock::now() + StopWatch::kPeriod;
    return agent_.stopped_twice();
  }

  void on_reaped(pid_t pid, int status) {
    if (counts_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed_;
    if (pid != main_) return;
    main_ = 0;
    report({ShimReport::Kind::exited, status, {}});
    linger_until_ = Clock::now() + kLinger;
  }

  void reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) on_reaped(pid, status);
    if (pid < 0 && errno == ECHILD) on_empty();
  }

  void on_empty() {
    if (std::exchange(empty_, true)) return;
    linger_until_.reset();
    report({ShimReport::Kind::empty, killed_, {}});
  }

  void end_background() {
    if (setup_.leave && !had_stop_) return on_empty();
    counts_ = true;
    kill_all();
  }

  void kill_all() {
    kill_cgroup(setup_.spawn.cgroup_fd);
    kill_children_until_none(Deadline::after(kKillLimit),
                             [this](pid_t pid, int status) { on_reaped(pid, status); });
    on_empty();
  }

  void report(ShimReport report) {
    report.time = clock_value(Clock::now());
    (void)!::send(control_.get(), &report, sizeof report, MSG_NOSIGNAL);
  }

  /// Returns false if the agent has closed its end.
  bool read_orders() {
    ShimOrder order;
    ssize_t got = 1;
    while (!may_leave_ && (got = ::recv(control_.get(), &order, sizeof order, MSG_DONTWAIT)) > 0)
      obey(order);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  void obey(const ShimOrder& order) {
    switch (order.kind) {
      case ShimOrder::Kind::signal:
        // Slurm has sent TERM to the rank, too. A rank gets it once.
        had_stop_ = had_stop_ || order.signo == SIGTERM;
        if (order.signo == SIGTERM && std::exchange(had_term_, false)) return;
        if (main_ != 0) ::kill(main_, order.signo);
        return;
      case ShimOrder::Kind::kill:
        return kill_all();
      case ShimOrder::Kind::suspend:
        return signal_descendants(SIGSTOP);
      case ShimOrder::Kind::resume:
        return signal_descendants(SIGCONT);
      case ShimOrder::Kind::leave:
        may_leave_ = true;
    }
  }

  int leave_without_agent() {
    kill_cgroup(setup_.spawn.cgroup_fd);
    kill_children_until_none(Deadline::after(kKillLimit), [](pid_t, int) {});
    agent_.process().kill();
    // A running guard kills this process. A stopped guard does not, and is killed here.
    const Deadline deadline = Deadline::after(kGuardLimit);
    while (!deadline.passed() && guard_.process().lives()) {
      if (guard_.stopped_twice()) guard_.process().kill();
      ::usleep(std::chrono::microseconds(StopWatch::kPeriod).count());
    }
    return 1;
  }

  const ShimSetup& setup_;
  Link link_;
  UniqueFd control_;
  StopWatch agent_;
  StopWatch guard_;
  Clock::time_point next_look_;
  std::optional<Clock::time_point> linger_until_;
  pid_t main_ = 0;
  bool empty_ = false;
  bool may_leave_ = false;
  bool had_stop_ = false;  // TERM, by order of the agent
  bool counts_ = false;    // processes that KILL ends from now on were left by the main process
  int killed_ = 0;
  bool had_term_ = false;  // from Slurm, which sends it to the rank, too
};

}  // namespace

int run_shim(ShimSetup setup) {
  // Not a session: Linux divides processors among sessions (sched(7), autogroup). Ranks that wait
  // for each other by sched_yield() on one core, and the agent that they wait for, must share one.
  ::setpgid(0, 0);
  forget_proc();
  forget_handlers();
  // The first ones become kPmiFd and kRankChannelFd.
  int* const descriptors[] = {&setup.spawn.pmi_fd,    &setup.spawn.channel_fd,
                              &setup.control_fd,      &setup.spawn.stdout_fd,
                              &setup.spawn.stderr_fd, &setup.spawn.stdin_fd,
                              &setup.spawn.cgroup_fd};
  std::vector<int> kept;
  for (const int* fd : descriptors)
    if (*fd >= 0) kept.push_back(*fd);
  keep_only(kept);
  std::size_t next = 0;
  for (int* fd : descriptors)
    if (*fd >= 0) *fd = kept[next++];
  set_process_title(kShimName, ("dsshim rank " + std::to_string(setup.rank)).c_str());
  return Shim(setup).run();
}

}  // namespace ds::launcher
