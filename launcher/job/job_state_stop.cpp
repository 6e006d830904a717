// The part of JobState that ends a job: TERM, grace, KILL, giving up; signals and slow readers.
#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

void JobState::stop(Cause cause) {
  const bool started = phase_ == Phase::running;
  phase_ = Phase::stopping;
  cause_ = std::move(cause);
  start_by_.reset();
  // An agent that has not greeted ends by itself when its channel closes.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].stage != NodeState::Stage::opening) continue;
    nodes_[i].stage = NodeState::Stage::gone;
    --nodes_left_;
    --nodes_unready_;
    act(CloseAgent{static_cast<int>(i)});
  }
  if (!started) {
    kill();  // ranks that never began need no grace
  } else if (ranks_left_ > 0) {
    act(StopRanks{policy_.grace});
    kill_at_ = now_ + policy_.grace + kKillMargin;
    say_waiting_at_ = now_ + kSayWaitingAfter;
  }
  finish_when_done();
}

void JobState::kill() {
  act(KillRanks{});
  kill_at_.reset();
  say_waiting_at_.reset();
  give_up_at_ = now_ + kGiveUpAfterKill;
}

void JobState::give_up() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].stage == NodeState::Stage::gone) continue;
    nodes_[i].stage = NodeState::Stage::gone;
    --nodes_left_;
    aftermath_.lost_nodes.push_back(static_cast<int>(i));
    act(CloseAgent{static_cast<int>(i)});
  }
  finish_when_done();
}

void JobState::finish_when_done() {
  if (nodes_left_ > 0 || phase_ == Phase::finished) return;
  phase_ = Phase::finished;
  if (const std::string text = verdict(placement_, cause_, aftermath_); !text.empty())
    act(Say{text});
  act(Finish{exit_code(cause_)});
}

/// Agents stop and kill by themselves; what they say about it stands behind output that nobody
/// reads yet.
void JobState::handle(const OutputHeld&) {
  for (NodeState& node : nodes_) node.last_heard = now_;
  if (kill_at_) kill_at_ = std::max(*kill_at_, now_ + kKillMargin);
  if (give_up_at_) give_up_at_ = std::max(*give_up_at_, now_ + kGiveUpAfterKill);
}

void JobState::handle(const OutputClosed&) {
  if (phase_ != Phase::stopping) stop({.kind = Cause::Kind::output});
}

// Signals.

void JobState::handle(const SignalReceived& event) {
  if (event.signo == SIGTSTP) return suspend();
  ++signals_;
  if (signals_ >= 3) return give_up();
  if (phase_ != Phase::stopping) return stop({.kind = Cause::Kind::signal, .signo = event.signo});
  if (give_up_at_) return;  // already killing
  kill();
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
  for (auto* at : {&start_by_, &say_waiting_at_, &kill_at_, &give_up_at_})
    if (*at) **at += pause;
  for (NodeState& node : nodes_) node.last_heard = now_;
  next_beat_ = now_ + beat_period();
  act(ResumeRanks{});
}

}  // namespace ds::launcher
