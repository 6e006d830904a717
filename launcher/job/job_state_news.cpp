// The part of JobState that takes news of agents and ends of ranks, and chooses the first failure.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using What = Fleet::News::What;

namespace {

/// The longest time that the last message of a node may have been in transit.
constexpr std::chrono::seconds kUnderWay{1};

/// Returns whether a rank of dsrunner ended because another rank was gone.
bool lost_another(const RankEnd& end) { return end.status.code() == contract::kExitUnreachable; }

/// Returns whether a rank of dsrunner ended with an error of its own: not because another rank was
/// gone, and not by an order to stop.
bool failed_itself(const RankEnd& end) {
  if (const auto code = end.status.code())
    return *code < contract::kExitSignalBase && *code != contract::kExitUnreachable;
  const auto signal = end.status.signal();
  return signal && (!end.note.empty() || (*signal != SIGTERM && *signal != SIGKILL));
}

}  // namespace

void JobState::take(const Fleet::News& news) {
  const int agent = news.agent;
  const int index = roster_.node_of(agent);
  switch (news.what) {
    case What::greeted:
      if (fleet_.again(agent)) return;  // it sweeps first
      if (index >= 0) return fleet_.give_spec(agent, index);
      return agent_waits(agent);
    case What::swept:
      set_sweep(agent, NodeLoss::Sweep::done, news.killed);
      if (phase_ == Phase::stopping) return fleet_.dismiss(agent);
      return agent_waits(agent);
    case What::ready:
      ++nodes_ready_;
      if (index == 0) port_ = news.port;
      return;
    case What::cleared:
      return agent_cleared(agent);
    case What::time_up:
      return refuse(
          agent, fmt::format("its check has not ended within {}", span_text(kCheckWithin)));
    default:
      break;
  }
  const std::string reason = loss_reason(news, host_name(agent));
  if (index < 0 && may_change()) return host_away(agent, reason, loss_stage(news));
  if (index < 0) return waiting_agent_lost(agent, reason);
  const bool ended =
      phase_ == Phase::running ? node(index).ranks_left == 0 : phase_ >= Phase::stopping;
  if (news.what == What::left && ended) {
    vacate(agent, reason, {});
    return node_done(index);
  }
  const bool goes_on = phase_ == Phase::clearing || may_change();
  if (news.what == What::unanswered && !goes_on) {
    roster_.remove(agent);
    if (!node(index).done) verdict_.unanswered.push_back(index);
    return node_done(index);
  }
  node_lost(agent, news.was == Stage::ready, reason, loss_stage(news));
}

void JobState::agent_cleared(int agent) {
  const int index = roster_.node_of(agent);
  if (phase_ == Phase::running && node(index).ranks_left > 0) {
    fleet_.close(agent);
    return node_lost(agent, false, host_name(agent) + ": the agent does not know its ranks", {});
  }
  node_done(index);
  if (phase_ == Phase::stopping) fleet_.dismiss(agent);
}

/// Handles the loss of a spare, or of an agent that was dialed again: neither has ranks. A lost
/// host that does not answer yet may be booting: it is dialed until its time is over.
void JobState::waiting_agent_lost(int agent, const std::string& reason) {
  const bool in_time = kRedialAfter + kSweepWithin <= alarms_.left(Alarm::sweep);
  if (is_unswept(agent) && may_restart() && in_time)
    return redial_after(kRedialAfter, agent);  // its record in the roster stays
  roster_.remove(agent);
  set_sweep(agent, NodeLoss::Sweep::unreached, 0);
  if (!fleet_.again(agent) && phase_ != Phase::stopping)
    act(Say{"a spare host cannot be used: " + printable(reason)});
}

/// Handles the loss of a node's agent, and with it of its ranks.
void JobState::node_lost(int agent, bool was_ready, const std::string& reason,
                         const std::string& stage) {
  const int index = roster_.node_of(agent);
  vacate(agent, reason, stage);
  if (elastic()) return member_lost(agent, index, reason);
  if (!begun_) {
    if (was_ready) --nodes_ready_;
    searching_ = false;  // it included the lost node
    if (placement_.epoch > placement_.first_epoch && may_restart()) dial_again(agent, reason);
    return;
  }
  const bool had_ranks = node(index).ranks_left > 0;
  const bool was_done = node(index).done;
  node_done(index);  // before the cause is set: its ranks are the cause
  if (!was_done || may_restart()) dial_again(agent, reason);
  if (phase_ == Phase::running && had_ranks)
    mark_failure({.kind = Cause::Kind::node,
                  .node = index,
                  .time = {.here = fleet_.last_heard(agent)},
                  .reason = reason});
}

/// Marks a node as done; its ranks that have not ended count as lost.
void JobState::node_done(int index) {
  if (std::exchange(node(index).done, true)) return;
  ++nodes_done_;
  for (const int rank : placement_.nodes[static_cast<std::size_t>(index)].ranks)
    rank_ended(rank, RankEnd{});  // lost
}

/// Removes the agent and lets another one fill its node.
void JobState::vacate(int agent, const std::string& reason, const std::string& stage) {
  const int index = roster_.node_of(agent);
  const Node& place = placement_.nodes[static_cast<std::size_t>(index)];
  // A node may have more ranks than its host has slots: its replacement needs no more than those.
  const int slots = std::min(static_cast<int>(place.ranks.size()), place.host.slots);
  roster_.remove(agent);
  if (elastic()) return;
  roster_.vacate({index, reason, stage}, slots, roster_.host_number(agent));
}

/// Dials the host of an agent that was added to the roster. `again`: the agent has to sweep it in
/// time.
void JobState::dial(int agent, bool again, std::chrono::milliseconds sweep_within) {
  const int added = fleet_.add(roster_.host_number(agent), again);
  DS_ASSERT(agent == added);
  fleet_.dial(agent);
  if (again) fleet_.sweep_within(agent, sweep_within);
}

/// Dials a lost host again, to kill leftover processes there and perhaps to use it again.
void JobState::dial_again(int lost, const std::string& reason) {
  if (signals_.count() >= 2) return;  // the user wants a quick end
  const int agent = roster_.add_again(lost);
  verdict_.losses.push_back({.node = roster_.node_of(lost),
                             .host = host_name(lost),
                             .reason = reason,
                             .swept_by = agent});
  const std::chrono::milliseconds span = may_restart() ? policy_.start_timeout : kSweepWithin;
  dial(agent, true, span);
  alarms_.set(Alarm::sweep, span);
}

/// Lets redial() dial the host of a lost agent again.
void JobState::redial_after(std::chrono::milliseconds delay, int agent) {
  const std::pair<Clock::time_point, int> entry{now_ + delay, agent};
  redials_.insert(std::ranges::upper_bound(redials_, entry), entry);
}

/// Dials the hosts whose next attempt is due.
void JobState::redial() {
  while (!redials_.empty() && redials_.front().first <= now_) {
    const int agent = redials_.front().second;
    redials_.pop_front();
    roster_.remove(agent);
    const int next = roster_.add_again(agent);
    if (NodeLoss* const loss = loss_of(agent)) loss->swept_by = next;
    dial(next, true,
         elastic() ? policy_.start_timeout
                   : std::chrono::ceil<std::chrono::milliseconds>(alarms_.left(Alarm::sweep)));
  }
}

/// Gives up hosts whose next attempt is not due yet.
void JobState::drop_redials() {
  for (const auto& [at, agent] : std::exchange(redials_, {})) {
    roster_.remove(agent);
    set_sweep(agent, NodeLoss::Sweep::unreached, 0);
  }
}

/// Returns the loss that the agent was dialed for; null if it was dialed for none.
NodeLoss* JobState::loss_of(int agent) {
  const auto loss = std::ranges::find(verdict_.losses, agent, &NodeLoss::swept_by);
  return loss == verdict_.losses.end() ? nullptr : &*loss;
}

/// Records the result of the sweep that the agent was dialed for, if any.
void JobState::set_sweep(int agent, NodeLoss::Sweep sweep, std::uint32_t killed) {
  NodeLoss* const loss = loss_of(agent);
  if (loss == nullptr || loss->sweep != NodeLoss::Sweep::pending) return;
  loss->sweep = sweep;
  loss->killed = killed;
  loss->told = sweep == NodeLoss::Sweep::done && phase_ < Phase::stopping;
  if (loss->told && killed > 0) act(Say{printable(loss_text(*loss))});
}

void JobState::handle(const RankExited& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  if (!begun_ || rank(event.rank).ended) return;
  rank_ended(event.rank, event.end);
  const bool follows = is_beside_pause() && policy_.trains && lost_another(event.end);
  if (elastic() && event.end.status.code() == contract::kExitPaused) {
    paused_ = true;
  } else if (!event.end.status.success()) {
    if (!follows) rank_failed(cause_of(event));
  } else if (phase_ == Phase::running && ranks_left_ > 0 && policy_.exit_skew.after.count() > 0) {
    alarms_.set(Alarm::skew, policy_.exit_skew.after);
  }
}

void JobState::handle(const MpiRankFailed& event) {
  if (begun_) rank_failed(cause_of(event));
}

void JobState::rank_failed(const Cause& cause) {
  spoiled_ = is_beside_pause();
  if (phase_ == Phase::running || spoiled_)
    mark_failure(cause);
  else if (came_first(cause))
    earlier_ = cause;
}

void JobState::handle(const FenceFailed& event) {
  if (begun_ && phase_ == Phase::running)
    mark_failure({.kind = Cause::Kind::fence, .running = event.ranks, .span = event.waited});
}

Cause JobState::cause_of(const MpiRankFailed& event) const {
  return {.kind = Cause::Kind::mpi,
          .rank = event.rank,
          .node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank,
          .time = event.time,
          .reason = event.text,
          .code = event.code};
}

Cause JobState::cause_of(const RankExited& event) const {
  return {.kind = Cause::Kind::rank,
          .rank = event.rank,
          .node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank,
          .end = event.end,
          .time = event.time};
}

/// Returns whether this failure of a rank, reported later, certainly preceded the known failure,
/// which may be its consequence. Exits by our own TERM are always later. A rank of a training that
/// lost another rank may end before the other one does, which still reports its error.
bool JobState::came_first(const Cause& late) const {
  const bool acting = phase_ == Phase::clearing || phase_ == Phase::stopping;
  const bool node_lost = cause_.kind == Cause::Kind::node;
  if (!acting || (!is_of_rank(cause_) && !node_lost)) return false;
  if (policy_.trains && !node_lost) {
    if (lost_another(cause_.end) && failed_itself(late.end)) return true;
    if (failed_itself(cause_.end) && !failed_itself(late.end)) return false;
  }
  // The node lived when it sent its last message, at most kUnderWay before that arrived.
  if (node_lost)
    return late.time.here && cause_.time.here &&
           *late.time.here + late.time.error < *cause_.time.here - kUnderWay;
  const ExitTime& known = cause_.time;
  if (late.node == cause_.node) return late.time.there != 0 && late.time.there < known.there;
  return late.time.here && known.here &&
         *late.time.here + late.time.error < *known.here - known.error;
}

/// An earlier failure was reported late. It becomes the cause; the stop goes on, unless the new
/// cause forbids a restart.
void JobState::take_earlier(Cause cause) {
  const bool was_of_rank = is_of_rank(cause_);
  if (was_of_rank) {
    rank(cause_.rank).after_cause = true;
  } else {
    for (const int number : placement_.nodes[static_cast<std::size_t>(cause_.node)].ranks)
      rank(number).after_cause |= rank(number).end.status.is_lost();
  }
  rank(cause.rank).after_cause = false;
  if (phase_ == Phase::stopping) {
    cause.note = cause_.note;
    cause_ = std::move(cause);
    return;
  }
  const std::string text = printable(cause_text(placement_, cause));
  act(Say{text + "; this came first"});
  if (!elastic()) verdict_.restarts.pop_back();
  if (is_of_joiner(cause)) {
    change_.counted = false;
    change_.kind = Change::left;
    retire_joiner(cause.node, end_of_joiner(cause));
  } else if (auto why = why_no_restart(cause)) {
    cause.note = std::move(*why);
    return stop(std::move(cause));
  } else if (elastic() && was_of_rank && change_.kind == Change::left) {
    change_.counted = true;  // what came later had only followed the TERM of its node
    change_.kind = Change::failed;
  }
  if (elastic())
    change_.why = text;
  else
    verdict_.restarts.push_back({.why = text});
  cause_ = std::move(cause);
}

void JobState::rank_ended(int number, const RankEnd& end) {
  RankRecord& record = rank(number);
  if (record.ended) return;
  record.ended = true;
  record.end = end;
  const bool stopping = phase_ == Phase::stopping || phase_ == Phase::clearing;
  const bool is_cause = is_of_rank(cause_) && cause_.rank == number;
  record.after_cause = begun_ && !is_cause && (stopping || cause_.kind != Cause::Kind::none);
  --ranks_left_;
  --node(placement_.ranks[static_cast<std::size_t>(number)].node_rank).ranks_left;
  if (ranks_left_ == 0) alarms_.clear(Alarm::skew);
}

}  // namespace ds::launcher
