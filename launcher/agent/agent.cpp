// One loop over the channel, signals, shims, output pipes and the clock.
#include "launcher/agent/agent.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"
#include "launcher/agent/agent_channel.h"
#include "launcher/agent/agent_state.h"
#include "launcher/agent/link.h"
#include "launcher/agent/node_facts.h"
#include "launcher/agent/rank_set.h"

namespace ds::launcher {
namespace {

/// Ranks are not read while so much output waits for the channel.
constexpr std::size_t kOutputLimit = std::size_t{1} << 20;
/// For the last frames, after the end, while the root says nothing. A root that lives but does not
/// read waits for its own reader, and the end of the output is worth that wait.
constexpr std::chrono::seconds kDrainLimit{10};
/// The same when things have gone wrong.
constexpr std::chrono::milliseconds kBadDrainLimit{500};
/// How often we look for children that have lost their shim, while there may be some.
constexpr std::chrono::milliseconds kStrayPeriod{5};
/// All processes that are hit together are hit within this.
constexpr std::chrono::milliseconds kHitSpan{1200};

class Agent {
 public:
  explicit Agent(const AgentSetup& setup)
      : link_(setup.guard),
        channel_(setup.in_fd, setup.out_fd),
        state_(Clock::now()),
        guard_(link_.parent()),
        root_(setup.root),
        next_look_(Clock::now() + StopWatch::kPeriod) {}

  int run() {
    channel_.send_text(kPreamble);
    channel_.send_control(envelope_, describe_node());
    while (!exit_code_) {
      try {
        turn();
      } catch (const Error& error) {
        tell(LinkLost{error.for_people()});
      }
    }
    drain();
    leave_no_stopped_guard();
    return *exit_code_;
  }

 private:
  void turn() {
    wait();
    now_ = Clock::now();
    read_signals();
    read_channel();
    read_reports();
    read_streams();
    look_at_neighbours();
    if (now_ >= state_.wake_at()) tell(TimePassed{});
    channel_.flush();
    if (kill_strays_) ranks_.kill_strays();
    if (started_ && !told_empty_ && is_empty()) {
      told_empty_ = true;
      tell(NodeEmpty{});
    }
  }

  /// All ranks and their output are done, and no child is left. Nobody waits for output when things
  /// have gone wrong.
  [[nodiscard]] bool is_empty() {
    if (!ranks_.done(/*with_output=*/!bad_since_)) return false;
    const bool no_child = ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
    // With all shims gone, whoever is left has lost them.
    kill_strays_ = !no_child;
    return no_child;
  }

  void tell(const AgentEvent& event) {
    for (const AgentAction& action : state_.on(event, Clock::now()))
      std::visit([this](const auto& a) { perform(a); }, action);
  }

  void lose_root(const std::string& why) {
    if (!bad_since_) bad_since_ = Clock::now();
    tell(RootLost{why});
  }

  void perform(const Send& action) {
    // The last frame must not overtake what the ranks wrote.
    const bool is_last = std::holds_alternative<Bye>(action.message) ||
                         std::holds_alternative<Cleared>(action.message);
    if (is_last) {
      channel_.send_last(envelope_, action.message);
    } else {
      channel_.send_control(envelope_, action.message);
    }
  }
  void perform(const HoldPort&) {
    if (state_.spec()->hold_port) port_ = hold_free_port();
    tell(PortHeld{port_.port});
  }
  void perform(const StartRanks& action) {
    started_ = true;
    ranks_.start(*state_.spec(), action.env, guard_.process());
  }
  void perform(const SignalMains& action) { ranks_.order({ShimOrder::Kind::signal, action.signo}); }
  void perform(const KillRanks&) { ranks_.order({ShimOrder::Kind::kill, 0}); }
  void perform(const SuspendRanks&) { ranks_.order({ShimOrder::Kind::suspend, 0}); }
  void perform(const ResumeRanks&) { ranks_.order({ShimOrder::Kind::resume, 0}); }
  void perform(const KillStrays&) {
    kill_strays_ = true;
    if (!bad_since_) bad_since_ = Clock::now();
  }
  void perform(const ForgetRanks&) {
    ranks_ = RankSet{};
    started_ = told_empty_ = killing_everything_ = kill_strays_ = false;
  }
  void perform(const KillEverything&) {
    killing_everything_ = true;
    kill_children_until_none(
        Deadline::after(kKillLimit),
        [](void* self, pid_t pid, int) { static_cast<Agent*>(self)->on_reaped(pid); }, this);
  }
  void perform(const Finish& action) { exit_code_ = action.code; }

  void wait() {
    polled_.clear();
    polled_.push_back({link_.signals(), POLLIN, 0});
    polled_.push_back({channel_open_ ? channel_.in() : -1, POLLIN, 0});
    polled_.push_back({channel_.anything_waiting() ? channel_.out() : -1, POLLOUT, 0});
    Clock::time_point until = std::min(state_.wake_at(), next_look_);
    // Strays come to us without any event.
    if (kill_strays_) until = std::min(until, Clock::now() + kStrayPeriod);
    ranks_.add_polls(polled_, may_read_output(), until);
    ::poll(polled_.data(), polled_.size(), static_cast<int>(Deadline(until).remaining().count()));
  }

  [[nodiscard]] bool may_read_output() const {
    return channel_.output_waiting() < kOutputLimit && (!credit_ || *credit_ > 0);
  }

  void read_signals() {
    const Link::Seen seen = link_.read_signals();
    if (seen.terminate) lose_root("the agent was told to end");
    if (link_.orphaned()) tell(LinkLost{"the guard was killed"});
    if (seen.child) reap();
  }

  void reap() {
    read_reports();  // A report that is already here must not look like a lost shim.
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) on_reaped(pid);
  }

  void on_reaped(pid_t pid) {
    for (const auto& rank : ranks_) {
      if (rank->shim() != pid) continue;
      read_reports(*rank);
      rank->shim_ended();
      if (rank->ended()) continue;
      // Shims that we have killed ourselves are no news; how their ranks ended nobody can tell.
      if (killing_everything_) {
        tell(RankEnded{{.rank = rank->rank(), .wait_status = -1}});
      } else {
        tell(LinkLost{fmt::format("the shim of rank {} was killed", rank->rank())});
      }
    }
  }

  void read_channel() {
    if (!channel_open_) return;
    channel_open_ = channel_.read_some();
    while (const auto frame = channel_.next()) {
      if (std::holds_alternative<Spec>(frame->message) && !state_.spec())
        envelope_ = frame->envelope;
      if (const auto* credit = std::get_if<Credit>(&frame->message))
        credit_ = credit_.value_or(0) + credit->bytes;
      // Late frames of another epoch or agent mean nothing here.
      if (frame->envelope == envelope_ || !state_.spec()) tell(FrameCame{frame->message});
    }
    if (channel_.error()) tell(LinkLost{"the launcher sent nonsense: " + *channel_.error()});
    if (!channel_open_) lose_root("the channel to the launcher has ended");
  }

  void read_reports() {
    for (const auto& rank : ranks_) read_reports(*rank);
  }
  void read_reports(RankProcess& rank) {
    while (rank.control() >= 0) {
      const auto report = rank.next_report();
      if (!report) return;
      Exited how{.rank = rank.rank()};
      switch (report->kind) {
        case ShimReport::Kind::empty:
          rank.order({ShimOrder::Kind::leave, 0});
          continue;
        case ShimReport::Kind::started:
          tell(RankStarted{rank.rank(), report->value});
          continue;
        case ShimReport::Kind::exited:
          how.wait_status = report->value;
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

  void read_streams() {
    ranks_.read_streams(
        polled_, now_, [this] { return may_read_output(); },
        [this](const Output& output) { pass_output(output); });
  }

  void pass_output(const Output& output) {
    if (credit_) *credit_ -= std::min<std::uint64_t>(*credit_, output.bytes.size());
    channel_.send_output(envelope_, output);
  }

  void look_at_neighbours() {
    if (now_ < next_look_) return;
    next_look_ = now_ + StopWatch::kPeriod;
    if (guard_.stopped_twice()) tell(LinkLost{"the guard was stopped"});
    for (const auto& rank : ranks_) {
      if (rank->shim_stopped())
        tell(LinkLost{fmt::format("the shim of rank {} was stopped", rank->rank())});
    }
    // When it suspends the job, it stops itself.
    if (root_.stopped_twice() && !state_.suspended()) lose_root("the launcher was stopped");
  }

  void drain() {
    Deadline deadline = bad_since_ ? Deadline::after(kBadDrainLimit) : Deadline::after(kDrainLimit);
    channel_.flush();
    while (channel_.anything_waiting() && !deadline.passed()) {
      pollfd ends[] = {{channel_.out(), POLLOUT, 0},
                       {channel_open_ ? channel_.in() : -1, POLLIN, 0}};
      ::poll(ends, 2, static_cast<int>(deadline.remaining().count()));
      if (ends[1].revents != 0) {
        channel_open_ = channel_.read_some();
        if (channel_open_ && !bad_since_) deadline = Deadline::after(kDrainLimit);
        while (channel_.next()) {
        }
      }
      channel_.flush();
    }
  }

  /// It would stay behind for ever. When things go wrong, it may be stopped in the moments after
  /// us.
  void leave_no_stopped_guard() {
    const Clock::time_point until = bad_since_ ? *bad_since_ + kHitSpan : Clock::now();
    while (!link_.orphaned()) {
      const ProcessRef::State state = guard_.process().state();
      if (state != ProcessRef::State::stopped && Clock::now() >= until) return;
      if (guard_.stopped_twice()) return guard_.process().kill();
      ::usleep(std::chrono::microseconds(StopWatch::kPeriod).count());
    }
  }

  Link link_;
  AgentChannel channel_;
  bool channel_open_ = true;
  AgentState state_;
  Envelope envelope_;
  StopWatch guard_;
  StopWatch root_;
  HeldPort port_;
  RankSet ranks_;
  bool started_ = false;
  std::vector<pollfd> polled_;
  std::optional<std::uint64_t> credit_;
  Clock::time_point now_;
  Clock::time_point next_look_;
  bool told_empty_ = false;
  bool killing_everything_ = false;
  bool kill_strays_ = false;
  std::optional<Clock::time_point> bad_since_;  // root or a link is lost
  std::optional<int> exit_code_;
};

}  // namespace

int run_agent(const AgentSetup& setup) { return Agent(setup).run(); }

}  // namespace ds::launcher
