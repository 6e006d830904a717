// The policy of one job.
#include "launcher/job/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

using namespace std::chrono_literals;

JobState::JobState(Placement placement, JobPolicy policy)
    : placement_(std::move(placement)), policy_(policy) {
  nodes_.resize(placement_.nodes.size());
  for (const Node& node : placement_.nodes)
    nodes_[static_cast<std::size_t>(node.node_rank)].ranks_left =
        static_cast<int>(node.ranks.size());
  rank_ended_.resize(placement_.ranks.size());
  nodes_left_ = nodes_unready_ = static_cast<int>(nodes_.size());
  ranks_left_ = placement_.world_size();
}

std::vector<Action> JobState::on(const Event& event, Clock::time_point now) {
  if (phase_ == Phase::finished) return {};
  now_ = now;
  actions_.clear();
  std::visit([this](const auto& known) { handle(known); }, event);
  return std::exchange(actions_, {});
}

Clock::time_point JobState::wake_at() const {
  if (suspended_) return Clock::time_point::max();
  Clock::time_point at = next_beat_;
  for (const auto& other : {start_by_, say_waiting_at_, kill_at_, give_up_at_})
    if (other) at = std::min(at, *other);
  return at;
}

std::chrono::milliseconds JobState::beat_period() const {
  // Several beats in a short timeout: one that is late must not lose a node.
  if (policy_.node_timeout <= 0ms) return kHeartbeat;
  return std::clamp<std::chrono::milliseconds>(policy_.node_timeout / 4, 10ms, kHeartbeat);
}

JobState::NodeState& JobState::node(int index) {
  DS_ASSERT(index >= 0 && static_cast<std::size_t>(index) < nodes_.size());
  return nodes_[static_cast<std::size_t>(index)];
}

bool JobState::is_over(int index) const {
  return nodes_[static_cast<std::size_t>(index)].stage == NodeState::Stage::gone;
}

// Start-up.

void JobState::handle(const Start&) {
  next_beat_ = now_ + beat_period();
  for (NodeState& node : nodes_) node.last_heard = now_;
  node_progressed();
  act(OpenAgents{});
}

void JobState::node_progressed() {
  start_by_.reset();
  if (phase_ == Phase::starting && nodes_unready_ > 0) start_by_ = now_ + policy_.start_timeout;
}

void JobState::handle(const AgentGreeted& event) {
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::opening) return;
  node.stage = NodeState::Stage::greeted;
  node.last_heard = now_;
  node_progressed();
  act(SendSpec{event.node});
}

void JobState::handle(const AgentReady& event) {
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::greeted) return;
  node.stage = NodeState::Stage::ready;
  if (event.node == 0) port_ = event.port;
  --nodes_unready_;
  node_progressed();
  begin_when_settled();
}

/// Every node has answered, for good or bad: now it starts, or all bad ones are named.
void JobState::begin_when_settled() {
  if (phase_ != Phase::starting || nodes_unready_ > 0) return;
  if (bad_.empty()) {
    phase_ = Phase::running;
    act(SendGo{port_});
    return;
  }
  std::sort(bad_.begin(), bad_.end(),
            [](const BadNode& a, const BadNode& b) { return a.node < b.node; });
  act(Say{unreachable_text(placement_, bad_)});
  stop({.kind = Cause::Kind::unreachable});
}

// What agents tell.

void JobState::handle(const AgentHeard& event) { node(event.node).last_heard = now_; }

void JobState::handle(const AgentDone& event) {
  if (is_over(event.node)) return;
  NodeState& node = this->node(event.node);
  if (node.stage != NodeState::Stage::ready) --nodes_unready_;
  node.stage = NodeState::Stage::gone;
  --nodes_left_;
  ranks_lost(event.node);  // none, unless the agent was killed before its ranks began
  act(CloseAgent{event.node});
  finish_when_done();
}

void JobState::handle(const AgentLost& event) {
  if (is_over(event.node)) return;
  NodeState& node = this->node(event.node);
  const bool was_ready = node.stage == NodeState::Stage::ready;
  node.stage = NodeState::Stage::gone;
  --nodes_left_;
  if (!was_ready) --nodes_unready_;
  act(CloseAgent{event.node});
  if (phase_ == Phase::starting) {
    bad_.push_back({event.node, event.reason});
    node_progressed();
    begin_when_settled();
    return;
  }
  const bool had_ranks = node.ranks_left > 0;
  ranks_lost(event.node);  // first: they did not stop after it, they are it
  if (phase_ == Phase::running && had_ranks)
    stop({.kind = Cause::Kind::node, .node = event.node, .reason = event.reason});
  finish_when_done();
}

/// The ranks of a node that is gone have no other end than this.
void JobState::ranks_lost(int node) {
  for (const int rank : placement_.nodes[static_cast<std::size_t>(node)].ranks)
    rank_ended(rank, RankEnd{});
}

void JobState::handle(const RankExited& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  if (rank_ended_[static_cast<std::size_t>(event.rank)]) return;
  rank_ended(event.rank, event.end);
  const int node = placement_.ranks[static_cast<std::size_t>(event.rank)].node_rank;
  if (phase_ != Phase::stopping && !event.end.status.success())
    stop({.kind = Cause::Kind::rank, .rank = event.rank, .node = node, .end = event.end});
  // All have ended: what they left behind is the agents' to clear, in bounded time.
  if (ranks_left_ == 0 && !give_up_at_) kill_at_ = now_ + policy_.grace + kKillMargin;
}

void JobState::rank_ended(int rank, const RankEnd& end) {
  if (rank_ended_[static_cast<std::size_t>(rank)]) return;
  rank_ended_[static_cast<std::size_t>(rank)] = true;
  --ranks_left_;
  --node(placement_.ranks[static_cast<std::size_t>(rank)].node_rank).ranks_left;
  if (phase_ != Phase::stopping || cause_.kind == Cause::Kind::unreachable) return;
  ++aftermath_.stopped;
  if (end.status.signal() == SIGKILL) ++aftermath_.killed;
}

// Time.

void JobState::handle(const Tick&) {
  if (suspended_) return;
  if (now_ > wake_at() + kOwnStall)
    for (NodeState& node : nodes_) node.last_heard = now_;
  if (now_ >= next_beat_) {
    next_beat_ = now_ + beat_period();
    act(SendHeartbeats{});
    drop_silent_nodes();
  }
  if (start_by_ && now_ >= *start_by_) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto stage = nodes_[i].stage;
      if (stage == NodeState::Stage::opening || stage == NodeState::Stage::greeted)
        handle(
            AgentLost{static_cast<int>(i), placement_.nodes[i].host.name + ": not ready in time"});
    }
  }
  if (say_waiting_at_ && now_ >= *say_waiting_at_) {
    say_waiting_at_.reset();
    const auto left = policy_.grace - std::chrono::milliseconds(kSayWaitingAfter);
    if (ranks_left_ > 0 && left > 0ms)
      act(Say{waiting_text(placement_, cause_, ranks_left_, left)});
  }
  if (kill_at_ && now_ >= *kill_at_) kill();
  if (give_up_at_ && now_ >= *give_up_at_) give_up();
}

void JobState::drop_silent_nodes() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    const bool talks =
        node.stage == NodeState::Stage::greeted || node.stage == NodeState::Stage::ready;
    if (!talks || now_ < node.last_heard + policy_.node_timeout) continue;
    handle(AgentLost{static_cast<int>(i),
                     fmt::format("{}: nothing heard for {:.3g} s", placement_.nodes[i].host.name,
                                 std::chrono::duration<double>(policy_.node_timeout).count())});
    if (phase_ == Phase::finished) return;
  }
}

}  // namespace ds::launcher
