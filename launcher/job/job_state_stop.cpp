// The part of JobState that ends an epoch: TERM, grace, KILL, giving up; then the next epoch or
// the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "engine/base/contract.h"
#include "engine/base/units.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

/// Returns the least delay of a restart after this cause: a rank that ended as one that got TERM
/// from outside is often followed by its node, as a pod that is deleted. A restart before that is
/// lost with it.
std::chrono::milliseconds JobState::least_delay(const Cause& cause) {
  const bool told = cause.kind == Cause::Kind::rank &&
                    (cause.end.status.code() == contract::kExitTerminated ||
                     cause.end.status.signal() == SIGTERM);
  return told ? 1s : 0s;
}

/// Ends the job for the first failure, cause_, or restarts all ranks.
void JobState::act_on_failure() {
  if (is_of_joiner(cause_))
    return drop_joiners({cause_.node}, end_of_joiner(cause_));
  if (std::optional<std::string> why = why_no_restart(cause_)) {
    cause_.note = std::move(*why);
    return stop(std::move(cause_));
  }
  if (!elastic()) return restart();
  const bool lost = cause_.kind == Cause::Kind::node;
  // Slurm sends the TERM that ends a node to its ranks too: ranks that obey have not failed.
  const bool left = !lost && least_delay(cause_) > 0ms && (is_too_large() || !ending_.empty());
  begin_change({.kind = lost ? Change::lost : left ? Change::left : Change::failed,
                .why = printable(cause_text(placement_, cause_)),
                .counted = !lost && !left});
}

/// Returns why no restart may follow this cause, however many are left; nothing if one may.
std::optional<std::string> JobState::why_never_restarted(const Cause& cause) const {
  if (!cause.end.cause.empty()) return "it would fail again";
  std::optional<int> code;
  if (cause.kind == Cause::Kind::rank) code = cause.end.status.code();
  if (cause.kind == Cause::Kind::mpi) code = exit_code(cause);
  if (code == contract::kExitDoNotRestart) return "it asks not to be restarted";
  if (policy_.trains && (code == contract::kExitUsage || code == contract::kExitConfig))
    return "its configuration or data must be changed first";
  return std::nullopt;
}

/// Returns why no restart is allowed (empty text if none was requested); nothing if one is. Of
/// elastic jobs, gather() looks whether one is left: a loss that explains the cause is not counted.
std::optional<std::string> JobState::why_no_restart(const Cause& cause) const {
  if (!elastic() && policy_.max_restarts == 0) return "";
  if (auto why = why_never_restarted(cause); why || elastic()) return why;
  return why_none_left();
}

/// Returns "after 2 restarts" if no more restarts are left (empty text if none was requested).
std::optional<std::string> JobState::why_none_left() const {
  const int used = static_cast<int>(verdict_.restarts.size());
  if (used < policy_.max_restarts) return std::nullopt;
  return used > 0 ? fmt::format("after {}", counted(used, "restart")) : "";
}

std::chrono::milliseconds restart_delay(int quick_restarts) {
  constexpr std::chrono::milliseconds kLongest{30'000};
  if (quick_restarts <= 0) return 0ms;
  return std::min<std::chrono::milliseconds>(1s * (1 << std::min(quick_restarts - 1, 10)),
                                             kLongest);
}

/// Returns how long the next epoch is delayed. `grows`: ever longer after epochs that were short.
std::chrono::milliseconds JobState::next_delay(bool grows) {
  if (now_ - begun_at_ >= kGoodRun || has_stepped()) quick_restarts_ = 0;
  return std::max(least_delay(cause_), grows ? restart_delay(quick_restarts_++) : 0ms);
}

void JobState::restart() {
  phase_ = Phase::clearing;
  failed_at_ = now_;
  const std::chrono::milliseconds delay = next_delay(true);
  alarms_.set(Alarm::restart, delay);
  verdict_.restarts.push_back({.why = printable(cause_text(placement_, cause_))});
  act(Say{fmt::format("{}; restart {} of {}{}", verdict_.restarts.back().why,
                      verdict_.restarts.size(), policy_.max_restarts,
                      delay > 0ms ? " in " + span_text(delay) : "")});
  stop_ranks();
}

void JobState::restart_when_cleared() {
  if (nodes_done_ < node_count()) return;
  if (elastic()) return gather();
  fill_vacancies();
  if (roster_.has_vacancies()) {
    if (roster_.help_is_coming()) return;
    Cause cause = cause_;
    cause.note = no_host_text(placement_, roster_.bad_nodes());
    return stop(std::move(cause));
  }
  if (alarms_.is_ahead(Alarm::restart)) return;
  ++placement_.epoch;
  ++placement_.restarts;
  begin_epoch();
  for (const Node& place : placement_.nodes)
    fleet_.give_spec(roster_.agent_of(place.node_rank), place.node_rank);
}

void JobState::stop(Cause cause) {
  // Otherwise its ranks are already stopping.
  const bool first = phase_ != Phase::clearing || alarms_.is_set(Alarm::stop);
  phase_ = Phase::stopping;
  cause_ = std::move(cause);
  searching_ = false;
  release_agents();
  if (!begun_) {
    kill_ranks();  // ranks that never began need no grace
  } else if (first) {
    stop_ranks();
  }
}

/// Cancels all deadlines of an ending job and dismisses idle agents. Agents that have not greeted
/// end when their channel closes.
void JobState::release_agents() {
  alarms_.clear_all_but({Alarm::say_waiting, Alarm::sweep});
  drop_redials();
  if (alarms_.is_set(Alarm::sweep))
    alarms_.set(Alarm::sweep,
                std::min<Clock::duration>(alarms_.left(Alarm::sweep), kSweepWithin));
  for (int agent = 0; agent < fleet_.size(); ++agent) {
    if (is_sweeper(agent) && hosts_.failures(roster_.host_number(agent)) >= kFewTries) {
      fleet_.close(agent);
      waiting_agent_lost(agent, {});
    } else if (is_sweeper(agent))
      fleet_.sweep_within(agent, kSweepWithin);
    else if (fleet_.stage(agent) == Stage::opening)
      fleet_.close(agent);
    else if (fleet_.stage(agent) == Stage::idle)
      fleet_.dismiss(agent);
  }
}

void JobState::stop_ranks() {
  alarms_.clear(Alarm::skew);
  alarms_.set(Alarm::say_waiting, kSayWaitingAfter);
  if (ranks_left_ == 0) return;
  for (int agent = 0; agent < fleet_.size(); ++agent)
    if (fleet_.is_busy(agent)) fleet_.stop(agent, policy_.grace);
}

void JobState::kill_ranks() {
  alarms_.clear(Alarm::say_waiting);
  for (int agent = 0; agent < fleet_.size(); ++agent)
    if (fleet_.is_busy(agent) && !fleet_.is_being_killed(agent)) fleet_.kill(agent);
}

/// Handles the third request to stop: leaves behind whatever still runs.
void JobState::give_up() {
  phase_ = Phase::stopping;
  drop_redials();
  for (int agent = 0; agent < fleet_.size(); ++agent) {
    if (fleet_.stage(agent) == Stage::gone) continue;
    const int index = roster_.node_of(agent);
    if (index >= 0 && !node(index).done) verdict_.unanswered.push_back(index);
    fleet_.close(agent);
    roster_.remove(agent);
  }
}

/// Gives up lost hosts that have not answered again.
void JobState::drop_sweepers() {
  drop_redials();
  for (int agent = 0; agent < fleet_.size(); ++agent) {
    if (!is_sweeper(agent)) continue;
    fleet_.close(agent);
    waiting_agent_lost(agent, {});
  }
}

void JobState::finish_when_done() {
  if (fleet_.left() > 0) return;
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
  const Cause cause{.kind = Cause::Kind::output, .reason = event.reason};
  if (phase_ < Phase::stopping)
    wanted_ = cause;
  else
    mark_failure(cause);  // all ranks ended well, but their output is lost
  if (phase_ == Phase::writing) conclude();
}

void JobState::handle(const SignalReceived& event) {
  if (std::ranges::count(policy_.forwarded_signals, event.signo) > 0) {
    if (begun_ && ranks_left_ > 0) act(SignalRanks{event.signo});
  } else if (event.signo == SIGTSTP) {
    fleet_.suspend();
  } else if (phase_ == Phase::writing) {
    mark_failure(
        {.kind = Cause::Kind::signal, .signo = event.signo, .reason = std::string(kOutputDropped)});
    conclude();
  } else if (signals_.counts(event.signo, now_, event.asked)) {
    signo_ = event.signo;
  }
}

/// Between two epochs the states of a training are in the memory of agents alone, and ranks that
/// were told to pause may be on their way there: before the job stops, its ranks begin once more, on
/// whatever hosts are there, and then stop as by TERM, which saves. Returns whether that is under
/// way.
bool JobState::saves_before_stop(int signo) {
  if (!policy_.trains || !states_.saves_at_stop) return false;
  if (policy_.grace == 0ms) return false;  // KILL follows TERM at once: nothing would be saved
  if (stop_signal_) return true;
  const bool pauses = alarms_.is_set(Alarm::pause);
  if (!keeps_ && !pauses) return false;
  if (phase_ == Phase::running && has_stepped() && !pauses) return false;  // they can save now
  if (least_delay(cause_) > 0ms) return false;  // they got the signal too, and have saved
  stop_signal_ = signo;
  act(Say{fmt::format("got {}; the ranks begin once more to save the states that are kept, and then "
                      "stop; a second signal stops without that",
                      signal_name(signo))});
  return true;
}

void JobState::obey_signal(int signo) {
  if (signals_.count() >= 3) return give_up();
  if (phase_ < Phase::stopping) {
    if (signals_.count() < 2 && saves_before_stop(signo)) return;
    Cause cause{.kind = Cause::Kind::signal, .signo = signo};
    if (!begun_) cause.reason = missing_text();
    return stop(std::move(cause));
  }
  // What told the nodes to end has reached the root, too.
  if (stopped_by_nodes_ && signals_.count() < 2) return;
  drop_sweepers();
  kill_ranks();
}

}  // namespace ds::launcher
