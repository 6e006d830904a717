// The part of JobState that looks at the clock, and what stops it: heartbeats, silence, deadlines,
// suspension.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

Clock::time_point JobState::wake_at() const {
  if (suspended_) return Clock::time_point::max();
  Clock::time_point at = next_beat_;
  for (const auto& other : {start_by_, say_waiting_at_, kill_at_, give_up_at_, sweep_by_, leave_by_,
                            silent_at_, deadline_at_, pre_signal_at_, skew_at_})
    if (other) at = std::min(at, *other);
  return at;
}

std::chrono::milliseconds JobState::beat_period() const {
  // Several beats in a short timeout: one that is late must not lose a node.
  const std::chrono::milliseconds longest =
      phase_ == Phase::starting ? kStartHeartbeat : kHeartbeat;
  if (policy_.node_timeout <= 0ms) return longest;
  return std::clamp<std::chrono::milliseconds>(policy_.node_timeout / 4, 10ms, longest);
}

void JobState::handle(const Tick&) {
  if (suspended_ || only_writes()) return;
  const auto due = [this](std::optional<Clock::time_point>& at) {
    if (only_writes() || !at || now_ < *at) return false;
    at.reset();
    return true;
  };
  if (now_ > wake_at() + kOwnStall)
    for (int agent = 0; agent < agents_.size(); ++agent) agents_[agent].last_heard = now_;
  if (now_ >= next_beat_) beat();
  if (due(silent_at_)) drop_silent_agents();
  if (due(start_by_)) drop_unready_agents();
  if (due(sweep_by_)) drop_sweepers();
  if (due(pre_signal_at_)) send_pre_signal();
  if (due(deadline_at_)) pass_deadline();
  if (due(skew_at_)) warn_of_skew();
  if (due(say_waiting_at_)) say_waiting();
  if (due(kill_at_)) kill();
  if (due(give_up_at_)) give_up();
  if (due(leave_by_)) close_leaving_agents();
}

void JobState::beat() {
  next_beat_ = now_ + beat_period();
  act(SendHeartbeats{});
  drop_silent_agents();
}

void JobState::drop_silent_agents() {
  silent_at_.reset();
  const int known = agents_.size();
  for (int agent = 0; agent < known; ++agent) {
    const AgentRecord& record = agents_[agent];
    if (record.stage == Stage::opening || record.stage == Stage::gone) continue;
    // An agent that never had a Spec beats every two seconds.
    const auto limit =
        record.node < 0 ? std::max(policy_.node_timeout, kIdleTimeout) : policy_.node_timeout;
    const Clock::time_point at = record.last_heard + limit;
    if (now_ >= at) {
      handle(AgentLost{
          agent, fmt::format("{}: nothing heard for {}", host_name(agent), span_text(limit))});
      if (only_writes()) return;
    } else if (at < next_beat_) {
      silent_at_ = std::min(silent_at_.value_or(at), at);
    }
  }
}

void JobState::drop_unready_agents() {
  const int known = agents_.size();
  for (int agent = 0; agent < known; ++agent) {
    const AgentRecord& record = agents_[agent];
    if (record.stage == Stage::preparing || (record.stage == Stage::opening && !record.again))
      handle(AgentLost{agent,
                       host_name(agent) + ": " +
                           not_ready_text(record.stage == Stage::preparing, policy_.start_timeout),
                       "agent start"});
  }
}

void JobState::say_waiting() {
  const auto left = policy_.grace - std::chrono::milliseconds(kSayWaitingAfter);
  if (ranks_left_ > 0 && left > 0ms) {
    act(Say{waiting_text(placement_, cause_, ranks_left_, left)});
  } else if (sweep_by_ && *sweep_by_ > now_) {
    const auto span = std::chrono::ceil<std::chrono::seconds>(*sweep_by_ - now_);
    act(Say{fmt::format("{}; up to {} for it to answer again, to kill what is left there",
                        printable(cause_text(placement_, cause_)), span_text(span))});
  }
}

// Deadlines.

std::vector<int> JobState::running_ranks() const {
  std::vector<int> running;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!ranks_[rank].ended) running.push_back(static_cast<int>(rank));
  return running;
}

void JobState::send_pre_signal() {
  if (phase_ != Phase::running || ranks_left_ == 0) return;
  act(SignalRanks{policy_.pre_signal->signo});
  act(Say{fmt::format("{} until the deadline: {} goes to all ranks",
                      span_text(policy_.pre_signal->before),
                      signal_name(policy_.pre_signal->signo))});
}

void JobState::pass_deadline() {
  Cause cause{.kind = Cause::Kind::deadline, .span = *policy_.timeout};
  if (begun_) {
    cause.running = running_ranks();
  } else {
    cause.reason = "not all nodes were ready";
  }
  stop(std::move(cause));
}

void JobState::warn_of_skew() {
  Cause cause{
      .kind = Cause::Kind::skew, .running = running_ranks(), .span = policy_.exit_skew.after};
  if (policy_.exit_skew.stop) return stop(std::move(cause));
  act(Say{printable(cause_text(placement_, cause))});
}

// What stops the clock.

/// Agents stop and kill by themselves; that nothing is left they say behind output that nobody
/// reads yet. Heartbeats need no credit: a node that is silent now is as silent as ever.
void JobState::handle(const OutputHeld&) {
  if (kill_at_) kill_at_ = std::max(*kill_at_, now_ + kKillMargin);
  if (give_up_at_) give_up_at_ = std::max(*give_up_at_, now_ + kGiveUpAfterKill);
}

void JobState::suspend() {
  if (std::exchange(suspended_, true)) return;
  suspended_at_ = now_;
  act(SuspendRanks{});
  act(SuspendSelf{});
}

void JobState::handle(const Continued&) {
  if (!std::exchange(suspended_, false)) return;
  const auto pause = now_ - suspended_at_;
  for (auto* at : {&start_by_, &say_waiting_at_, &kill_at_, &give_up_at_, &sweep_by_, &leave_by_,
                   &silent_at_, &deadline_at_, &pre_signal_at_, &skew_at_})
    if (*at) **at += pause;
  for (int agent = 0; agent < agents_.size(); ++agent) agents_[agent].last_heard = now_;
  next_beat_ = now_ + beat_period();
  act(ResumeRanks{});
}

}  // namespace ds::launcher
