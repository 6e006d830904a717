// The part of JobState that hears of ends: of ranks, of nodes, of agents.
#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "engine/base/error.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {
namespace {

/// What was last heard of a node may have been under way so long.
constexpr std::chrono::seconds kUnderWay{1};

}  // namespace

void JobState::handle(const AgentHeard& event) { agents_[event.agent].last_heard = now_; }

void JobState::handle(const RankExited& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  if (!begun_ || ranks_[static_cast<std::size_t>(event.rank)].ended) return;
  rank_ended(event.rank, event.end);
  if (phase_ == Phase::running && !event.end.status.success()) {
    fail(cause_of(event));
  } else if (!event.end.status.success() && came_first(event)) {
    take_earlier(cause_of(event));
  } else if (phase_ == Phase::running && ranks_left_ > 0 && policy_.exit_skew.after.count() > 0) {
    skew_at_ = now_ + policy_.exit_skew.after;
  }
  // All have ended: what they left behind is the agents' to clear, in bounded time.
  if (ranks_left_ == 0 && !give_up_at_) kill_at_ = now_ + policy_.grace + kKillMargin;
}

Cause JobState::cause_of(const RankExited& event) const {
  return {.kind = Cause::Kind::rank,
          .rank = event.rank,
          .node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank,
          .end = event.end,
          .time = event.time};
}

/// Heard of later than the failure that we act on, but certainly earlier: that one may well be its
/// consequence. What our own TERM does is always later.
bool JobState::came_first(const RankExited& event) const {
  const bool acting = phase_ == Phase::clearing || phase_ == Phase::stopping;
  const bool node_lost = cause_.kind == Cause::Kind::node;
  if (!acting || (cause_.kind != Cause::Kind::rank && !node_lost)) return false;
  // The node lived when it was last heard, but for what was under way then.
  if (node_lost)
    return event.time.here && cause_.time.here &&
           *event.time.here + event.time.error < *cause_.time.here - kUnderWay;
  const ExitTime& known = cause_.time;
  const int node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank;
  if (node == cause_.node) return event.time.there != 0 && event.time.there < known.there;
  return event.time.here && known.here &&
         *event.time.here + event.time.error < *known.here - known.error;
}

/// Another failure is the first; what follows it is as before, unless it forbids a restart.
void JobState::take_earlier(Cause cause) {
  if (cause_.kind == Cause::Kind::rank) {
    ranks_[static_cast<std::size_t>(cause_.rank)].after_cause = true;
  } else {
    for (const int rank : placement_.nodes[static_cast<std::size_t>(cause_.node)].ranks)
      ranks_[static_cast<std::size_t>(rank)].after_cause |=
          ranks_[static_cast<std::size_t>(rank)].end.status.is_lost();
  }
  ranks_[static_cast<std::size_t>(cause.rank)].after_cause = false;
  if (phase_ == Phase::stopping) {
    cause.note = cause_.note;
    cause_ = std::move(cause);
    return;
  }
  const std::string text = printable(cause_text(placement_, cause));
  act(Say{text + "; this came first"});
  verdict_.restarts.pop_back();
  if (std::optional<std::string> why = why_no_restart(cause)) {
    cause.note = std::move(*why);
    return stop(std::move(cause));
  }
  verdict_.restarts.push_back({.why = text});
  cause_ = std::move(cause);
}

void JobState::rank_ended(int rank, const RankEnd& end) {
  RankRecord& record = ranks_[static_cast<std::size_t>(rank)];
  if (record.ended) return;
  record.ended = true;
  record.end = end;
  record.after_cause = begun_ && (phase_ == Phase::stopping || phase_ == Phase::clearing);
  --ranks_left_;
  --node(placement_.ranks[static_cast<std::size_t>(rank)].node_rank).ranks_left;
  if (ranks_left_ == 0) skew_at_.reset();
}

/// The ranks of a node that is gone have no other end than this.
void JobState::ranks_lost(int node) {
  for (const int rank : placement_.nodes[static_cast<std::size_t>(node)].ranks)
    rank_ended(rank, RankEnd{});
}

void JobState::node_done(int index) {
  if (std::exchange(node(index).done, true)) return;
  ++nodes_done_;
  ranks_lost(index);  // none, unless they never began
}

void JobState::handle(const AgentCleared& event) {
  const AgentRecord& agent = agents_[event.agent];
  if (agent.stage != Stage::ready || !begun_) return;
  if (phase_ == Phase::running && node(agent.node).ranks_left > 0)
    return node_lost(event.agent, host_name(event.agent) + ": the agent does not know its ranks");
  agents_[event.agent].stage = Stage::idle;
  node_done(agent.node);
  if (phase_ == Phase::stopping) dismiss(event.agent);
  advance();
}

void JobState::handle(const AgentDone& event) {
  const AgentRecord agent = agents_[event.agent];
  if (agent.stage == Stage::gone) return;
  const std::string left = host_name(event.agent) + ": the agent has left";
  if (agent.node < 0) return waiting_agent_lost(event.agent, left);
  const bool too_early =
      phase_ == Phase::starting || (phase_ == Phase::running && node(agent.node).ranks_left > 0);
  if (too_early) return node_lost(event.agent, left);
  close(event.agent);
  vacant_.push_back({agent.node, left});
  node_done(agent.node);
  advance();
}

void JobState::handle(const AgentLost& event) {
  const AgentRecord& agent = agents_[event.agent];
  if (agent.stage == Stage::gone) return;
  if (agent.node < 0) return waiting_agent_lost(event.agent, event.reason);
  node_lost(event.agent, event.reason, event.stage);
}

/// A spare, or one that was dialled again: no rank is on it.
void JobState::waiting_agent_lost(int agent, const std::string& reason) {
  close(agent);
  for (NodeLoss& loss : verdict_.losses)
    if (loss.swept_by == agent && loss.sweep == NodeLoss::Sweep::pending)
      loss.sweep = NodeLoss::Sweep::unreached;
  if (!agents_[agent].again && phase_ != Phase::stopping)
    act(Say{fmt::format("a spare host cannot be used: {}", printable(reason))});
  advance();
}

void JobState::node_lost(int agent, const std::string& reason, const std::string& stage) {
  const int index = agents_[agent].node;
  const bool was_ready = agents_[agent].stage == Stage::ready;
  const Clock::time_point last_heard = agents_[agent].last_heard;
  close(agent);
  vacant_.push_back({index, reason, stage});
  if (!begun_) {
    if (was_ready) --nodes_ready_;
    searching_ = false;  // for a node that is no more
    node_progressed();
    return advance();
  }
  const bool had_ranks = node(index).ranks_left > 0;
  const bool was_done = node(index).done;
  node_done(index);  // first: its ranks did not stop after it, they are it
  if (!was_done) dial_again(agent, reason);
  if (phase_ == Phase::running && had_ranks)
    return fail(
        {.kind = Cause::Kind::node, .node = index, .time = {.here = last_heard}, .reason = reason});
  advance();
}

/// To kill what was left there; and the host may be of use again.
void JobState::dial_again(int lost, const std::string& reason) {
  if (signals_ >= 2) return;  // somebody is in a hurry
  const int agent = agents_.dial_again(lost);
  ++agents_left_;
  agents_[agent].last_heard = now_;
  verdict_.losses.push_back(
      {.node = agents_[lost].node, .host = host_name(lost), .reason = reason, .swept_by = agent});
  act(OpenAgent{agent, agents_[agent].host});
  const bool may_restart = phase_ != Phase::stopping && keeps_agents();
  sweep_by_ = now_ + (may_restart ? policy_.start_timeout : kSweepWithin);
}

/// Whatever the phase waited for may have come.
void JobState::advance() {
  switch (phase_) {
    case Phase::starting:
      return begin_when_ready();
    case Phase::running:
      if (static_cast<std::size_t>(nodes_done_) == nodes_.size()) end_well();
      return;
    case Phase::clearing:
      return restart_when_cleared();
    case Phase::stopping:
      return finish_when_done();
    case Phase::writing:
    case Phase::finished:
      return;
  }
}

}  // namespace ds::launcher
