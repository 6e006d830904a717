// The part of JobState that handles news of agents: the effect of each change on its node.
#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "launcher/fleet/loss_reason.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using What = Fleet::News::What;

void JobState::take(const Fleet::News& news) {
  switch (news.what) {
    case What::greeted:
      return agent_greeted(news.agent);
    case What::swept:
      return agent_swept(news);
    case What::ready:
      ++nodes_ready_;
      if (roster_.node_of(news.agent) == 0) port_ = news.port;
      return;
    case What::cleared:
      return agent_cleared(news.agent);
    case What::time_up:
      return;  // no agent of a job has such a limit
    case What::left:
      return agent_left(news);
    case What::unanswered:
      return agent_unanswered(news);
    case What::lost:
    case What::silent:
    case What::no_greeting:
    case What::not_ready:
    case What::not_swept:
      break;
  }
  const std::string reason = loss_reason(news, host_name(news.agent));
  if (roster_.node_of(news.agent) < 0) return waiting_agent_lost(news.agent, reason);
  node_lost(news.agent, news.was == Stage::ready, reason, loss_stage(news));
}

void JobState::agent_greeted(int agent) {
  if (fleet_.again(agent)) return;  // it sweeps first
  if (const int node = roster_.node_of(agent); node >= 0) return fleet_.give_spec(agent, node);
  roster_.waits(agent);
}

void JobState::agent_swept(const Fleet::News& news) {
  set_sweep(news.agent, NodeLoss::Sweep::done, news.killed);
  if (phase_ == Phase::stopping) return fleet_.dismiss(news.agent);
  roster_.waits(news.agent);
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

void JobState::agent_left(const Fleet::News& news) {
  const int index = roster_.node_of(news.agent);
  const std::string reason = loss_reason(news, host_name(news.agent));
  if (index < 0) return waiting_agent_lost(news.agent, reason);
  const bool too_early =
      phase_ == Phase::starting || (phase_ == Phase::running && node(index).ranks_left > 0);
  if (too_early || phase_ == Phase::clearing)
    return node_lost(news.agent, news.was == Stage::ready, reason, {});
  roster_.remove(news.agent);
  vacate(index, reason, {});
  node_done(index);
}

/// Handles an agent that did not answer to KILL.
void JobState::agent_unanswered(const Fleet::News& news) {
  const int index = roster_.node_of(news.agent);
  if (phase_ == Phase::clearing)
    return node_lost(news.agent, false, loss_reason(news, host_name(news.agent)), {});
  roster_.remove(news.agent);
  if (!node(index).done) verdict_.unanswered.push_back(index);
  node_done(index);
}

/// Handles the loss of a spare, or of an agent that was dialed again: neither has ranks.
void JobState::waiting_agent_lost(int agent, const std::string& reason) {
  roster_.remove(agent);
  set_sweep(agent, NodeLoss::Sweep::unreached, 0);
  if (!fleet_.again(agent) && phase_ != Phase::stopping)
    act(Say{"a spare host cannot be used: " + printable(reason)});
}

/// Handles the loss of a node's agent, and with it of its ranks.
void JobState::node_lost(int agent, bool was_ready, const std::string& reason,
                         const std::string& stage) {
  const int index = roster_.node_of(agent);
  roster_.remove(agent);
  vacate(index, reason, stage);
  if (!begun_) {
    if (was_ready) --nodes_ready_;
    searching_ = false;  // it included the lost node
    return;
  }
  const bool had_ranks = node(index).ranks_left > 0;
  const bool was_done = node(index).done;
  node_done(index);  // before the cause is set: its ranks are the cause
  const bool may_restart = phase_ != Phase::stopping && keeps_agents();
  if (!was_done || may_restart) dial_again(agent, reason);
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

void JobState::vacate(int index, const std::string& reason, const std::string& stage) {
  const Node& place = placement_.nodes[static_cast<std::size_t>(index)];
  // A node may have more ranks than its host has slots: its replacement needs no more than those.
  const int slots = std::min(static_cast<int>(place.ranks.size()), place.host.slots);
  roster_.vacate({index, reason, stage}, slots);
}

/// Dials a lost host again, to kill leftover processes there and perhaps to use it again.
void JobState::dial_again(int lost, const std::string& reason) {
  if (signals_.count() >= 2) return;  // the user wants a quick end
  const int agent = roster_.add_again(lost);
  const int added = fleet_.add(roster_.host_number(agent), true);
  DS_ASSERT(agent == added);
  verdict_.losses.push_back({.node = roster_.node_of(lost),
                             .host = host_name(lost),
                             .reason = reason,
                             .swept_by = agent});
  fleet_.dial(agent);
  const bool may_restart = phase_ != Phase::stopping && keeps_agents();
  const std::chrono::milliseconds span = may_restart ? policy_.start_timeout : kSweepWithin;
  fleet_.sweep_within(agent, span);
  sweep_by_ = now_ + span;
}

/// Records the result of the sweep that the agent was dialed for, if any.
void JobState::set_sweep(int agent, NodeLoss::Sweep sweep, std::uint32_t killed) {
  // Losses and their sweeping agents are in the same order.
  const auto loss = std::ranges::lower_bound(verdict_.losses, agent, {}, &NodeLoss::swept_by);
  if (loss == verdict_.losses.end() || loss->swept_by != agent) return;
  if (loss->sweep != NodeLoss::Sweep::pending) return;
  loss->sweep = sweep;
  loss->killed = killed;
}

}  // namespace ds::launcher
