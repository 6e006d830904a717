// The part of JobState that ends an epoch: TERM, grace, KILL, giving up; then another one, or the
// verdict.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "launcher/job/job_state.h"
#include "runner/contract.h"

namespace ds::launcher {

/// The first failure: the job ends, or all ranks begin again.
void JobState::fail(Cause cause) {
  if (std::optional<std::string> why = why_no_restart(cause)) {
    cause.note = std::move(*why);
    return stop(std::move(cause));
  }
  restart(std::move(cause));
}

/// Nothing: a restart is allowed. Else the reason, empty where nobody expects one.
std::optional<std::string> JobState::why_no_restart(const Cause& cause) const {
  if (policy_.max_restarts == 0) return "";
  if (!cause.end.cause.empty()) return "it would fail again";
  if (cause.kind == Cause::Kind::rank && cause.end.status.code() == contract::kExitDoNotRestart)
    return "it asks not to be restarted";
  const int used = static_cast<int>(verdict_.restarts.size());
  if (used >= policy_.max_restarts) return fmt::format("after {}", count_of(used, "restart"));
  return std::nullopt;
}

void JobState::restart(Cause cause) {
  phase_ = Phase::clearing;
  failed_at_ = now_;
  cause_ = std::move(cause);
  verdict_.restarts.push_back({.why = printable(cause_text(placement_, cause_))});
  act(Say{fmt::format("{}; restart {} of {}", verdict_.restarts.back().why,
                      verdict_.restarts.size(), policy_.max_restarts)});
  stop_ranks();
  restart_when_cleared();
}

void JobState::restart_when_cleared() {
  if (static_cast<std::size_t>(nodes_done_) < nodes_.size()) return;
  if (!fill_vacancies()) {
    if (vacancies_may_be_filled()) return;
    Cause cause = cause_;
    cause.note =
        fmt::format("no host is left to take the place of {}",
                    placement_.nodes[static_cast<std::size_t>(vacant_.front().node)].host.name);
    return stop(std::move(cause));
  }
  ++placement_.epoch;
  begin_epoch();
  for (const Node& place : placement_.nodes) give_spec(agents_.agent_of(place.node_rank));
}

void JobState::stop(Cause cause) {
  const bool first = phase_ != Phase::clearing;  // else its ranks are being stopped already
  phase_ = Phase::stopping;
  cause_ = std::move(cause);
  searching_ = false;
  for (auto* at : {&start_by_, &skew_at_, &deadline_at_, &pre_signal_at_}) at->reset();
  if (sweep_by_) sweep_by_ = std::min(*sweep_by_, now_ + kSweepWithin);
  close_waiting_agents();
  if (!begun_) {
    kill();  // ranks that never began need no grace
  } else if (first) {
    stop_ranks();
  }
  finish_when_done();
}

void JobState::stop_ranks() {
  skew_at_.reset();
  if (ranks_left_ == 0) return;
  act(StopRanks{policy_.grace});
  kill_at_ = now_ + policy_.grace + kKillMargin;
  say_waiting_at_ = now_ + kSayWaitingAfter;
}

void JobState::kill() {
  act(KillRanks{});
  kill_at_.reset();
  say_waiting_at_.reset();
  give_up_at_ = now_ + kGiveUpAfterKill;
}

/// Agents that do not even answer to Kill.
void JobState::give_up() {
  const bool for_good = phase_ != Phase::clearing;
  if (for_good) phase_ = Phase::stopping;
  const int known = agents_.size();
  for (int agent = 0; agent < known; ++agent) {
    const AgentRecord record = agents_[agent];
    if (record.stage == Stage::gone) continue;
    const bool at_work = record.node >= 0 && !node(record.node).done;
    if (!for_good && at_work) node_lost(agent, host_name(agent) + ": no answer to KILL");
    if (!for_good) continue;
    if (at_work) verdict_.unanswered.push_back(record.node);
    close(agent);
  }
  finish_when_done();
}

void JobState::close(int agent) {
  agents_.remove(agent);
  --agents_left_;
  act(CloseAgent{agent});
}

/// At the end: they have nothing to do; those that are not there yet end when their channel closes.
void JobState::close_waiting_agents() {
  for (int agent = 0; agent < agents_.size(); ++agent) {
    const AgentRecord& record = agents_[agent];
    if (record.stage == Stage::opening && !record.again) close(agent);
    if (record.stage == Stage::idle) dismiss(agent);
  }
}

void JobState::dismiss(int agent) {
  agents_[agent].stage = Stage::leaving;
  act(DismissAgent{agent});
  leave_by_ = now_ + kLeaveWithin;
}

void JobState::close_leaving_agents() {
  for (int agent = 0; agent < agents_.size(); ++agent)
    if (agents_[agent].stage == Stage::leaving) close(agent);
  finish_when_done();
}

/// Hosts that do not answer again.
void JobState::drop_sweepers() {
  for (int agent = 0; agent < agents_.size(); ++agent) {
    const AgentRecord& record = agents_[agent];
    const bool sweeps = record.stage == Stage::opening || record.stage == Stage::sweeping;
    if (record.again && sweeps) waiting_agent_lost(agent, host_name(agent) + ": no answer in time");
  }
}

void JobState::end_well() {
  phase_ = Phase::stopping;
  if (sweep_by_) sweep_by_ = std::min(*sweep_by_, now_ + kSweepWithin);
  for (auto* at : {&start_by_, &skew_at_, &deadline_at_, &pre_signal_at_}) at->reset();
  close_waiting_agents();
  finish_when_done();
}

void JobState::finish_when_done() {
  if (agents_left_ > 0 || phase_ != Phase::stopping) return;
  verdict_.ran = std::chrono::duration_cast<std::chrono::milliseconds>(now_ - started_at_);
  if (cause_.kind != Cause::Kind::none) return conclude();
  phase_ = Phase::writing;
  act(FlushOutput{});
}

void JobState::conclude() {
  phase_ = Phase::finished;
  verdict_.placement = placement_;
  verdict_.cause = cause_;
  verdict_.ranks = std::move(ranks_);
  verdict_.began = begun_;
  act(Conclude{std::move(verdict_)});
}

void JobState::handle(const OutputClosed& event) {
  Cause cause{.kind = Cause::Kind::output, .reason = event.reason};
  if (phase_ < Phase::stopping) return stop(std::move(cause));
  // All ranks ended well, and what they wrote is lost.
  if (cause_.kind == Cause::Kind::none) cause_ = std::move(cause);
  if (phase_ == Phase::writing) conclude();
}

void JobState::handle(const OutputWritten&) {
  if (phase_ == Phase::writing) conclude();
}

void JobState::handle(const SignalReceived& event) {
  const std::vector<int>& passed_on = policy_.forwarded_signals;
  if (std::find(passed_on.begin(), passed_on.end(), event.signo) != passed_on.end()) {
    if (begun_ && ranks_left_ > 0) act(SignalRanks{event.signo});
    return;
  }
  if (event.signo == SIGTSTP) return suspend();
  if (phase_ == Phase::writing) return conclude();
  ++signals_;
  if (signals_ >= 3) return give_up();
  if (phase_ != Phase::stopping) return stop({.kind = Cause::Kind::signal, .signo = event.signo});
  drop_sweepers();
  if (only_writes() || give_up_at_) return;  // all over, or already killing
  kill();
}

}  // namespace ds::launcher
