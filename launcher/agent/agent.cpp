#include "launcher/agent/agent.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"
#include "launcher/agent/agent_loop.h"
#include "launcher/agent/leftovers.h"
#include "launcher/agent/limits.h"
#include "launcher/wire/build_line.h"

namespace ds::launcher {
namespace {

/// How often the agent looks for children without a shim, while there may be some.
constexpr std::chrono::milliseconds kStrayPeriod{5};

}  // namespace

AgentLoop::AgentLoop(const AgentSetup& setup)
    : link_(setup.guard),
      channel_(setup.in_fd, setup.out_fd),
      state_(Clock::now()),
      guard_(link_.parent()),
      root_(setup.root),
      output_(channel_),
      next_look_(Clock::now() + StopWatch::kPeriod) {}

int AgentLoop::run() {
  greet();
  while (!exit_code_) {
    try {
      turn();
    } catch (const Error& error) {
      tell(LinkLost{error.for_people()});
    }
  }
  folder_.remove();
  drain();
  leave_no_stopped_guard();
  return *exit_code_;
}

void AgentLoop::greet() {
  channel_.send_text(build_line(own_build_id()) + std::string(kPreamble));
  channel_.send_control(envelope_, describe_node());
  channel_.flush();
  // Leftovers of other jobs may hold devices and ports that this job needs.
  const std::size_t killed =
      sweep_after_dead_agents(agent_folders_of_user(), Deadline::after(kSweepLimit));
  if (killed > 0) tell(LeftoversKilled{static_cast<std::uint32_t>(killed)});
}

void AgentLoop::turn() {
  wait();
  now_ = Clock::now();
  read_signals();
  read_channel();
  read_reports();
  read_streams();
  test_addresses();
  look_at_neighbors();
  if (now_ >= state_.wake_at()) tell(TimePassed{});
  channel_.flush_due(now_);
  if (kill_strays_) ranks_.kill_strays();
  if (started_ && !told_empty_ && is_empty()) {
    told_empty_ = true;
    tell(NodeEmpty{});
  }
}

/// Returns true if all ranks have ended, their output is read and no child is left. After a loss
/// the output does not count.
bool AgentLoop::is_empty() {
  if (!ranks_.done(/*with_output=*/!bad_since_)) return false;
  if (state_.leaves_processes()) return output_.done(now_);
  const bool no_child = namespace_.entered()
                            ? leave_namespace()
                            : ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  // All shims have ended, so every child that is left has lost its shim.
  kill_strays_ = !no_child;
  return no_child && (bad_since_ || output_.done(now_));
}

/// Returns true once the namespace is empty. It is kept for the next epoch.
bool AgentLoop::leave_namespace() {
  if (state_.spec()->keep_agent && !bad_since_)
    return namespace_.clear(Deadline::after(kKillLimit)) || (namespace_.kill(), false);
  namespace_.kill();
  return false;
}

void AgentLoop::wait() {
  polled_.clear();
  polled_.push_back({link_.signals(), POLLIN, 0});
  polled_.push_back({channel_open_ ? channel_.in() : -1, POLLIN, 0});
  polled_.push_back({channel_.blocked() ? channel_.out() : -1, POLLOUT, 0});
  polled_.push_back({door_.fd(), POLLIN, 0});
  polled_.push_back({probe_.fd(), POLLIN, 0});
  Clock::time_point until =
      std::min({state_.wake_at(), channel_.wake_at(), door_.wake_at(), probe_.wake_at()});
  if (looks()) until = std::min(until, next_look_);
  // No event tells of a child that was reparented to this process.
  if (kill_strays_) until = std::min(until, Clock::now() + kStrayPeriod);
  if (const auto due = output_.wake_at()) until = std::min(until, *due);
  ranks_.add_polls(polled_, output_.may_read(), until);
  ::poll(polled_.data(), polled_.size(), static_cast<int>(Deadline(until).remaining().count()));
}

void AgentLoop::read_signals() {
  const Link::Seen seen = link_.read_signals();
  if (seen.terminate) lose_root("the agent received a signal to end");
  if (link_.orphaned()) tell(LinkLost{"the guard was killed"});
  if (seen.child) reap();
}

void AgentLoop::reap() {
  read_reports();  // A shim that has reported its end was not killed.
  for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) on_reaped(pid);
}

void AgentLoop::on_reaped(pid_t pid) {
  if (pid == namespace_.init()) {
    if (!namespace_.ending())
      tell(LinkLost{"the first process of the ranks' PID namespace was killed"});
    namespace_.init_reaped();
  }
  for (const auto& rank : ranks_) {
    if (rank->shim() != pid) continue;
    read_reports(*rank);
    rank->shim_ended();
    if (rank->ended()) continue;
    // The agent has killed this shim itself. The wait status of its rank is not known.
    if (killing_everything_) {
      tell(RankEnded{{.rank = rank->rank(), .wait_status = -1}});
    } else {
      tell(LinkLost{fmt::format("the shim of rank {} was killed", rank->rank())});
    }
  }
}

void AgentLoop::read_channel() {
  if (!channel_open_) return;
  channel_open_ = channel_.read_some();
  while (const auto frame = channel_.next()) {
    const bool late = !state_.spec() && frame->envelope == envelope_;
    const bool binds = std::holds_alternative<Spec>(frame->message) ||
                       std::holds_alternative<Kill>(frame->message);
    if (binds && !state_.spec() && !late) envelope_ = frame->envelope;
    if (const auto* credit = std::get_if<Credit>(&frame->message)) output_.credit(*credit);
    const auto* input = std::get_if<Stdin>(&frame->message);
    if (input != nullptr && frame->envelope == envelope_) ranks_.add_input(*input);
    if (const auto* window = std::get_if<Window>(&frame->message)) ranks_.resize(*window);
    const auto* watch = std::get_if<Watch>(&frame->message);
    if (watch != nullptr && frame->envelope == envelope_) output_.watch(*watch);
    if (const auto* beat = std::get_if<Heartbeat>(&frame->message)) {
      const bool first = !heard_beat_;
      heard_beat_ = *beat;
      heard_beat_at_ = Clock::now();
      if (first) send_heartbeat();  // The root needs the clock offset before any rank writes.
    }
    // Frames of another epoch or agent are late: they are dropped.
    if (frame->envelope == envelope_ || !state_.spec()) tell(FrameCame{frame->message, late});
  }
  if (channel_.error()) tell(LinkLost{"invalid data from the launcher: " + *channel_.error()});
  if (!channel_open_) lose_root({});
}

void AgentLoop::read_reports() {
  for (const auto& rank : ranks_) read_reports(*rank);
}

void AgentLoop::read_reports(RankProcess& rank) {
  while (rank.control() >= 0) {
    const auto report = rank.next_report();
    if (!report) return;
    Exited how{.rank = rank.rank(), .time = report->time};
    switch (report->kind) {
      case ShimReport::Kind::empty:
        if (report->value > 0) tell(BackgroundKilled{static_cast<std::uint32_t>(report->value)});
        rank.order({ShimOrder::Kind::leave, 0});
        continue;
      case ShimReport::Kind::started:
        rank.set_pid(namespace_.entered() ? pid_of_rank(rank.shim(), report->value)
                                          : report->value);
        tell(RankStarted{rank.rank(), rank.pid()});
        continue;
      case ShimReport::Kind::exited:
        pass_error_file(rank);
        how.wait_status = report->value;
        if (!sent_kill_)
          how.detail = autopsy_.explain(how.wait_status, rank.pid(), rank.program().cwd);
        break;
      case ShimReport::Kind::failed:
        how.stage = report->stage;
        how.spawn_errno = report->value;
        how.detail =
            how.stage == Exited::Stage::chdir ? rank.program().cwd : rank.program().argv[0];
        break;
    }
    tell(RankEnded{how});
  }
}

void AgentLoop::read_streams() {
  ranks_.read_streams(
      polled_, now_, [this] { return output_.may_read(); },
      [this](const Output& output) { output_.take(output); });
  output_.move(now_);
  if (const std::uint64_t taken = ranks_.feed_inputs(); taken > 0)
    channel_.send_control(envelope_, Credit{taken});
}

/// Serves the test of MASTER_ADDR, between Ready and Go.
void AgentLoop::test_addresses() {
  door_.turn(now_);
  const std::vector<Probed::Result> results = probe_.turn(now_);
  if (!results.empty()) channel_.send_control(envelope_, Probed{probe_.search(), results});
}

void AgentLoop::pass_error_file(const RankProcess& rank) {
  if (folder_.path().empty()) return;
  const std::string file = folder_.error_file(envelope_.epoch, rank.rank());
  ErrorFile message{rank.rank(), read_written_file(file, kMaxErrorFileBytes)};
  if (!message.text.empty()) channel_.send_control(envelope_, message);
}

int run_agent(const AgentSetup& setup) {
  raise_open_files();  // A rank needs three, and one for its log file.
  return AgentLoop(setup).run();
}

}  // namespace ds::launcher
