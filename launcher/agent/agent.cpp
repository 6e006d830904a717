#include "launcher/agent/agent.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"
#include "launcher/agent/node_facts.h"
#include "launcher/wire/build_line.h"

namespace ds::launcher {

AgentLoop::AgentLoop(const AgentSetup& setup)
    : link_(setup.guard),
      channel_(setup.in_fd, setup.out_fd),
      state_(Clock::now()),
      guard_(ProcessRef::of(setup.guard)),
      root_(setup.root),
      output_(channel_),
      next_look_(Clock::now() + StopWatch::kPeriod) {
  raise_open_files();  // A rank needs three, and one for its log file.
  kept_ = KeptStore(most_open_files() / 2);
}

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
  const std::uint32_t killed = sweep_after_dead_agents(agent_folders_of_user());
  if (killed > 0) channel_.send_control(envelope_, Swept{killed});
}

void AgentLoop::turn() {
  wait();
  now_ = Clock::now();
  read_signals();
  read_channel();
  read_reports();
  read_streams();
  serve_mpi();
  serve_check();
  serve_channels();
  // The test of MASTER_ADDR, between Ready and Go.
  door_.turn(now_);
  if (const auto results = probe_.turn(now_); !results.empty())
    channel_.send_control(envelope_, Probed{probe_.search(), results});
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
  pmix_.finish(now_);
  if (pmix_.is_running()) return false;
  if (state_.leaves_processes()) return output_.done(now_);
  bool no_child = false;
  if (!namespace_.entered()) {
    no_child = ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
  } else {  // The next epoch uses the namespace again.
    const bool keep = state_.spec()->keep_agent && !bad_since_;
    no_child = keep && namespace_.clear(Deadline::after(kKillLimit));
    if (!no_child) namespace_.kill();
  }
  // All shims have ended, so every child that is left has lost its shim.
  kill_strays_ = !no_child;
  return no_child && (bad_since_ || output_.done(now_));
}

void AgentLoop::wait() {
  polled_.clear();
  polled_.push_back({link_.signals(), POLLIN, 0});
  polled_.push_back({channel_open_ ? channel_.in() : -1, POLLIN, 0});
  polled_.push_back({channel_.blocked() ? channel_.out() : -1, POLLOUT, 0});
  polled_.push_back({door_.fd(), POLLIN, 0});
  polled_.push_back({probe_.fd(), POLLIN, 0});
  Clock::time_point until =
      std::min({state_.wake_at(), channel_.wake_at(), door_.wake_at(), probe_.wake_at(),
                output_.wake_at(), pmi_.wake_at(), pmix_.wake_at(), check_.wake_at()});
  if (channel_.takes_news()) until = std::min(until, channels_.wake_at());
  if (looks()) until = std::min(until, next_look_);
  // No event tells of a child that was reparented to this process.
  if (kill_strays_) until = std::min(until, Clock::now() + kStrayPeriod);
  ranks_.add_polls(polled_, output_.may_read(), until);
  pmi_.add_polls(polled_);
  pmix_.add_polls(polled_);
  check_.add_polls(polled_);
  channels_.add_polls(polled_);
  ::poll(polled_.data(), polled_.size(), static_cast<int>(Deadline(until).remaining().count()));
}

void AgentLoop::read_signals() {
  const Link::Seen seen = link_.read_signals();
  if (seen.terminate) lose_root("the agent received a signal to end");
  if (link_.orphaned()) tell(LinkLost{"the guard was killed"});
  if (!seen.child) return;
  read_reports();  // A shim that has reported its end was not killed.
  int wait_status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;)
    on_reaped(pid, wait_status);
}

void AgentLoop::on_reaped(pid_t pid, int wait_status) {
  if (pmix_.reaped(pid, wait_status) || check_.reaped(pid, wait_status)) return;
  if (namespace_.lost_init(pid))
    tell(LinkLost{"the first process of the ranks' PID namespace was killed"});
  for (const auto& rank : ranks_) {
    if (rank->shim != pid) continue;
    read_reports(*rank);
    rank->shim_ended();
    if (rank->ended) continue;
    // The agent has killed this shim itself. The wait status of its rank is not known.
    if (killing_everything_) {
      tell(Exited{.rank = rank->rank, .wait_status = -1});
    } else {
      tell(LinkLost{fmt::format("the shim of rank {} was killed", rank->rank)});
    }
  }
}

void AgentLoop::read_channel() {
  if (!channel_open_) return;
  channel_open_ = channel_.read_some();
  while (const auto frame = channel_.next()) take_frame(*frame);
  if (channel_.error()) tell(LinkLost{"invalid data from the launcher: " + *channel_.error()});
  if (!channel_open_) lose_root({});
}

void AgentLoop::take_frame(const Frame& frame) {
  const Message& message = frame.message;
  const bool late = !state_.spec() && frame.envelope == envelope_;
  const bool binds = std::holds_alternative<Spec>(message) || std::holds_alternative<Kill>(message);
  if (binds && !state_.spec() && !late) envelope_ = frame.envelope;
  const bool ours = frame.envelope == envelope_;
  if (const auto* credit = std::get_if<Credit>(&message)) output_.credit(*credit);
  if (const auto* input = std::get_if<Stdin>(&message); input != nullptr && ours)
    ranks_.add_input(*input);
  if (const auto* window = std::get_if<Window>(&message)) ranks_.resize(*window);
  if (const auto* watch = std::get_if<Watch>(&message); watch != nullptr && ours)
    output_.watch(*watch);
  if (const auto* beat = std::get_if<Heartbeat>(&message)) {
    const bool first = !heard_beat_;
    heard_beat_ = *beat;
    heard_beat_at_ = Clock::now();
    if (first) send_heartbeat();  // The root needs the clock offset before any rank writes.
  }
  if (const auto* order = std::get_if<OrderRank>(&message); order != nullptr && ours)
    channels_.order(*order, kept_);
  if (ours) pass_to_mpi(message);
  // Frames of another epoch or agent are late: they are dropped.
  if (ours || !state_.spec()) tell(FrameCame{message, late});
}

void AgentLoop::on_report(RankProcess& rank, const ShimReport& report) {
  Exited how{.rank = rank.rank, .time = report.time};
  switch (report.kind) {
    case ShimReport::Kind::empty:
      if (report.value > 0) tell(BackgroundKilled{static_cast<std::uint32_t>(report.value)});
      return rank.order({ShimOrder::Kind::leave, 0});
    case ShimReport::Kind::started:
      rank.pid = namespace_.entered() ? pid_of_rank(rank.shim, report.value) : report.value;
      return channel_.send_control(envelope_, Started{rank.rank, rank.pid});
    case ShimReport::Kind::exited:
      pmi_.ended(rank.rank, report.value, now_);
      if (report.value == 0) pmix_.ended_well(rank.rank, now_);
      pass_mpi();  // Before the end of the rank, which may explain less.
      channels_.ended(rank.rank, kept_, now_);
      pass_news();
      pass_error_file(rank.rank);
      how.wait_status = report.value;
      if (!sent_kill_) how.detail = autopsy_.explain(how.wait_status, rank.pid, rank.program.cwd);
      break;
    case ShimReport::Kind::failed:
      how.stage = report.stage;
      how.spawn_errno = report.value;
      how.detail = how.stage == Exited::Stage::chdir ? rank.program.cwd : rank.program.argv[0];
      break;
  }
  tell(how);
}

void AgentLoop::pass_error_file(std::int32_t rank) {
  if (folder_.path().empty()) return;
  const std::string file = folder_.error_file(envelope_.epoch, rank);
  const ErrorFile message{rank, read_written_file(file, kMaxErrorFileBytes)};
  if (!message.text.empty()) channel_.send_control(envelope_, message);
}

void AgentLoop::read_streams() {
  ranks_.read_streams(
      polled_, now_, [this] { return output_.may_read(); },
      [this](const Output& output) { output_.take(output); });
  output_.move(now_);
  if (const std::uint64_t taken = ranks_.feed_inputs(); taken > 0)
    channel_.send_control(envelope_, Credit{taken});
}

void AgentLoop::serve_mpi() {
  pmi_.turn(polled_, now_);
  pass_mpi();
}

void AgentLoop::pass_mpi() {
  for (const Message& message : pmi_.take_messages()) channel_.send_control(envelope_, message);
  for (const std::string& line : pmi_.take_lines()) output_.say(line);
  serve_pmix();
}

void AgentLoop::serve_pmix() {
  pmix_.turn(polled_, now_);
  for (const Message& message : pmix_.take_messages()) channel_.send_control(envelope_, message);
  for (const std::string& line : pmix_.take_lines()) output_.say(line);
  if (auto ready = pmix_.take_ready()) {
    pmix_env_ = std::move(*ready);
    tell(PortHeld{port_.port});
  }
  const auto problem = pmix_.take_problem();
  if (!problem) return;
  if (started_ || pmix_.is_wanted()) return tell(LinkLost{*problem});
  pmix_.finish(now_);  // The node offers PMI alone.
  tell(PortHeld{port_.port});
}

void AgentLoop::serve_check() {
  check_.turn(polled_, now_);
  if (const auto result = check_.take_result()) channel_.send_control(envelope_, *result);
}

void AgentLoop::serve_channels() {
  channels_.turn(polled_, kept_, now_);
  pass_news();
}

void AgentLoop::pass_news() {
  // Later news replace those that are not taken, as long as the root does not read.
  if (channel_.takes_news())
    for (const Message& news : channels_.take_messages(now_))
      channel_.send_control(envelope_, news);
  for (const std::string& line : channels_.take_lines()) output_.say(line);
}

void AgentLoop::pass_to_mpi(const Message& message) {
  if (const auto* fence = std::get_if<FenceOut>(&message)) pmi_.take(FenceOut(*fence));
  if (const auto* names = std::get_if<NameAnswer>(&message)) {
    if (names->id == 0)
      pmi_.take(*names);
    else
      pmix_.send(message);
  }
  const bool of_pmix =
      std::holds_alternative<FenceOut>(message) || std::holds_alternative<ModexAsk>(message) ||
      std::holds_alternative<ModexAnswer>(message) || std::holds_alternative<PmixNotice>(message);
  if (of_pmix) pmix_.send(message);
}

}  // namespace ds::launcher
