// The part of JobState that depends on time: deadlines, lines about missing nodes and ranks,
// suspension.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/fleet/loss_reason.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

Clock::time_point JobState::wake_at() const {
  if (fleet_.suspended() || only_writes()) return Clock::time_point::max();
  Clock::time_point at = fleet_.wake_at();
  // An overdue restart waits for other events, not for the clock.
  const auto restart_at = restart_at_ && *restart_at_ > now_ ? restart_at_ : std::nullopt;
  for (const auto& other :
       {say_missing_at_, say_waiting_at_, restart_at, deadline_at_, pre_signal_at_, skew_at_})
    if (other) at = std::min(at, *other);
  return at;
}

void JobState::handle(const Tick&) {
  if (fleet_.suspended() || only_writes()) return;
  fleet_.on(Tick{});
  ticked_ = true;
}

void JobState::look_at_clock() {
  const auto due = [this](std::optional<Clock::time_point>& at) {
    if (!at || now_ < *at) return false;
    at.reset();
    return true;
  };
  if (due(pre_signal_at_)) send_pre_signal();
  if (due(deadline_at_)) wanted_ = deadline_cause();
  if (due(skew_at_)) warn_of_skew();
  if (due(say_waiting_at_)) say_waiting();
  if (due(say_missing_at_)) say_missing();
}

void JobState::say_waiting() {
  const auto left = policy_.grace - std::chrono::milliseconds(kSayWaitingAfter);
  if (ranks_left_ > 0 && left > 0ms) {
    act(Say{waiting_text(placement_, cause_, ranks_left_, left)});
  } else if (ranks_left_ == 0 && sweep_by_ && *sweep_by_ > now_ && waits_for_sweep()) {
    const auto span = std::chrono::ceil<std::chrono::seconds>(*sweep_by_ - now_);
    act(Say{fmt::format("{}; retrying for up to {} to clean up leftover processes",
                        printable(cause_text(placement_, cause_)), span_text(span))});
  }
}

/// Names missing nodes, at growing intervals.
void JobState::say_missing() {
  if (phase_ != Phase::starting) return;
  missing_said_for_ *= 2;
  say_missing_at_ = now_ + missing_said_for_;
  if (std::string text = missing_text(); !text.empty()) act(Say{std::move(text)});
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
  act(Say{fmt::format("{} until the deadline: sending {} to all ranks",
                      span_text(policy_.pre_signal->before),
                      signal_name(policy_.pre_signal->signo))});
}

Cause JobState::deadline_cause() const {
  Cause cause{.kind = Cause::Kind::deadline, .span = *policy_.timeout};
  if (begun_) {
    cause.running = running_ranks();
  } else {
    cause.reason = missing_text();
    if (cause.reason.empty()) cause.reason = "the ranks had not begun";
  }
  return cause;
}

void JobState::warn_of_skew() {
  Cause cause{
      .kind = Cause::Kind::skew, .running = running_ranks(), .span = policy_.exit_skew.after};
  if (!policy_.exit_skew.stop) return act(Say{printable(cause_text(placement_, cause))});
  wanted_ = std::move(cause);
}

// Suspension.

void JobState::handle(const Continued&) {
  const std::optional<Clock::duration> pause = fleet_.resume();
  if (!pause) return;
  for (auto* at : {&say_missing_at_, &say_waiting_at_, &sweep_by_, &restart_at_, &deadline_at_,
                   &pre_signal_at_, &skew_at_})
    if (*at) **at += *pause;
  begun_at_ += *pause;
}

}  // namespace ds::launcher
