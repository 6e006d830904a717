#include "launcher/agent/agent_state.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

namespace ds::launcher {
namespace {

/// Returns true if every rank has a program, and every program has a file to run.
bool is_runnable(const Spec& spec) {
  const auto has_program = [&](const RankSpec& rank) {
    return rank.program >= 0 && static_cast<std::size_t>(rank.program) < spec.programs.size();
  };
  const auto has_file = [](const ProgramSpec& program) { return !program.argv.empty(); };
  return !spec.ranks.empty() && std::ranges::all_of(spec.ranks, has_program) &&
         std::ranges::all_of(spec.programs, has_file);
}

}  // namespace

AgentState::AgentState(Clock::time_point now)
    : now_(now), last_heard_(now), next_heartbeat_(now + kStartHeartbeat) {}

std::vector<AgentAction> AgentState::on(const AgentEvent& event, Clock::time_point now) {
  now_ = now;
  Actions out;
  if (phase_ == Phase::ended) return out;
  std::visit([&](const auto& e) { take(e, out); }, event);
  return out;
}

void AgentState::take(const FrameCame& event, Actions& out) {
  last_heard_ = now_;
  const Message& message = event.message;
  const bool is_running = phase_ == Phase::running;
  if (const auto* spec = std::get_if<Spec>(&message)) {
    take_spec(*spec, out);
  } else if (const auto* go = std::get_if<Go>(&message)) {
    if (is_running || phase_ == Phase::killing) return;
    if (phase_ != Phase::ready) return give_up("the launcher sent Go before Spec", out);
    phase_ = Phase::running;
    next_heartbeat_ = std::min(next_heartbeat_, now_ + beat_period());
    suspended_ = go->suspended;
    out.emplace_back(StartRanks{go->env, go->suspended});
  } else if (const auto* signal = std::get_if<Signal>(&message)) {
    if (is_running) out.emplace_back(SignalMains{signal->signo, signal->rank});
  } else if (const auto* stopping = std::get_if<Stop>(&message)) {
    if (event.late) return;
    const bool before_go = phase_ == Phase::ready || (phase_ == Phase::waiting && spec_);
    if (before_go && spec_->keep_agent) return drop_epoch(out);
    stop(std::chrono::milliseconds(stopping->grace_ms), out);
  } else if (std::holds_alternative<Kill>(message)) {
    if (!event.late) kill_ranks(out);
  } else if (const auto* sweep = std::get_if<Sweep>(&message)) {
    out.emplace_back(KillLeftovers{sweep->job_cookie, sweep->lost});
  } else if (const auto* check = std::get_if<Check>(&message)) {
    if (phase_ == Phase::waiting && !spec_ && is_runnable(check->spec))
      out.emplace_back(RunCheck{*check});
  } else if (const auto* probe = std::get_if<Probe>(&message)) {
    if (phase_ == Phase::ready) out.emplace_back(DialMaster{*probe});
  } else if (std::holds_alternative<Suspend>(message)) {
    if (!std::exchange(suspended_, true) && is_running) out.emplace_back(Act::suspend_ranks);
  } else if (std::holds_alternative<Resume>(message)) {
    if (std::exchange(suspended_, false) && is_running) out.emplace_back(Act::resume_ranks);
  }
}

void AgentState::take_spec(const Spec& spec, Actions& out) {
  if (phase_ != Phase::waiting || spec_) return give_up("the launcher sent a second Spec", out);
  if (!is_runnable(spec)) return give_up("the Spec has no program to run", out);
  spec_ = spec;
  silence_.reset();
  if (spec.node_timeout_ms > 0) silence_ = std::chrono::milliseconds(spec.node_timeout_ms);
  next_heartbeat_ = now_ + beat_period();
  out.emplace_back(Act::hold_port);
}

void AgentState::stop(Clock::duration grace, Actions& out) {
  if (phase_ == Phase::waiting || phase_ == Phase::ready) return kill_ranks(out);
  if (phase_ != Phase::running) return;
  if (!std::exchange(term_sent_, true)) out.emplace_back(SignalMains{SIGTERM});
  // A stopped process gets TERM only after SIGCONT.
  if (std::exchange(suspended_, false)) out.emplace_back(Act::resume_ranks);
  kill_at_ = std::min(kill_at_, now_ + grace);
}

/// Ends an epoch before its ranks begin: only a PMIx server may run.
void AgentState::drop_epoch(Actions& out) {
  if (!spec_->mpi.has_pmix()) return take(NodeEmpty{}, out);
  phase_ = Phase::running;
  term_sent_ = true;
  out.emplace_back(Act::clear_up);
}

void AgentState::kill_ranks(Actions& out) {
  if (phase_ == Phase::waiting || phase_ == Phase::ready) {
    out.emplace_back(Send{Bye{}});
    out.emplace_back(Finish{0});
    phase_ = Phase::ended;
    return;
  }
  if (phase_ != Phase::running) return;
  phase_ = Phase::killing;
  kill_at_ = kNever;
  force_at_ = now_ + kKillHelpsWithin;
  out.emplace_back(Act::kill_ranks);
}

void AgentState::give_up(const std::string& why, Actions& out) {
  if (failure_) return;
  failure_ = why;
  const bool has_ranks = phase_ == Phase::running || phase_ == Phase::killing;
  if (!has_ranks) return take(NodeEmpty{}, out);
  if (phase_ == Phase::running) out.emplace_back(Act::kill_ranks);
  out.emplace_back(Act::kill_strays);
  phase_ = Phase::killing;
  kill_at_ = kNever;
  force_at_ = std::min<Clock::time_point>(force_at_, now_ + kShimsHelpWithin);
}

void AgentState::take(const RootLost& event, Actions& out) {
  if (std::exchange(root_lost_, true)) return;
  // Sent before the ends of ranks that follow from it: a root that was only stopped and goes on
  // must learn the cause.
  if (!event.why.empty()) out.emplace_back(Send{Problem{event.why}});
  Clock::duration grace = kLossGrace;
  if (spec_) grace = std::min<Clock::duration>(grace, std::chrono::milliseconds(spec_->grace_ms));
  stop(grace, out);
}

void AgentState::take(const PortHeld& event, Actions& out) {
  if (phase_ != Phase::waiting) return;  // the epoch was dropped
  phase_ = Phase::ready;
  out.emplace_back(Send{Ready{event.port}});
}

void AgentState::take(const Exited& event, Actions& out) {
  // The agent kills ranks after a failure of its own; the Problem has the cause.
  if (!failure_) out.emplace_back(Send{event});
}

void AgentState::take(const NodeEmpty&, Actions& out) {
  if (!failure_ && !root_lost_ && spec_ && spec_->keep_agent) {  // Waits for the next epoch.
    out.emplace_back(Send{Cleared{}});
    out.emplace_back(Act::forget_ranks);
    phase_ = Phase::waiting;
    spec_.reset();
    term_sent_ = false;
    killed_ = 0;
    kill_at_ = force_at_ = kNever;
    return;
  }
  out.emplace_back(Send{failure_ ? Message(Problem{*failure_}) : Message(Bye{killed_})});
  out.emplace_back(Finish{failure_ ? 1 : leaves_processes() ? kLeavesProcesses : 0});
  phase_ = Phase::ended;
}

/// Returns the period of heartbeats: at least four in a node timeout, so that one late heartbeat
/// does not lose the node.
Clock::duration AgentState::beat_period() const {
  const bool starting = phase_ == Phase::waiting || phase_ == Phase::ready;
  const std::chrono::milliseconds longest = starting ? kStartHeartbeat : kHeartbeat;
  if (!silence_) return longest;
  // An agent that waits for its next Spec keeps the node timeout of the last one.
  return std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(*silence_) / 4,
                    std::chrono::milliseconds(10), longest);
}

void AgentState::take(const TimePassed&, Actions& out) {
  if (now_ >= next_heartbeat_) {
    next_heartbeat_ = now_ + beat_period();
    if (!root_lost_) out.emplace_back(Send{Heartbeat{}});
  }
  if (now_ >= silence_limit()) {
    using Tenths = std::chrono::duration<long, std::deci>;
    const std::chrono::duration<double> silent = std::chrono::round<Tenths>(now_ - last_heard_);
    take(RootLost{fmt::format("the launcher was silent for {:.6g} s", silent.count())}, out);
  }
  if (phase_ == Phase::running && now_ >= kill_at_) kill_ranks(out);
  if (phase_ == Phase::killing && now_ >= force_at_) {
    force_at_ = kNever;
    out.emplace_back(Act::kill_everything);
  }
}

}  // namespace ds::launcher
