// The policy of one job: from nothing to running ranks.
#include "launcher/job/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {

JobState::JobState(Placement placement, JobPolicy policy, const std::vector<Host>& spares)
    : placement_(std::move(placement)), policy_(std::move(policy)), agents_(placement_, spares) {
  agents_left_ = agents_.size();
}

std::vector<Action> JobState::on(const Event& event, Clock::time_point now) {
  if (phase_ == Phase::finished) return {};
  now_ = now;
  actions_.clear();
  std::visit([this](const auto& known) { handle(known); }, event);
  return std::exchange(actions_, {});
}

std::string_view JobState::phase_name() const {
  switch (phase_) {
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::clearing:
      return "restarting";
    case Phase::stopping:
    case Phase::writing:
      return "stopping";
    case Phase::finished:
      return "finished";
  }
  return {};
}

void JobState::handle(const Start&) {
  started_at_ = now_;
  next_beat_ = now_ + beat_period();
  if (policy_.timeout) deadline_at_ = now_ + *policy_.timeout;
  if (policy_.timeout && policy_.pre_signal)
    pre_signal_at_ = *deadline_at_ - policy_.pre_signal->before;
  begin_epoch();
  for (int agent = 0; agent < agents_.size(); ++agent) {
    agents_[agent].last_heard = now_;
    act(OpenAgent{agent, agents_[agent].host});
  }
}

/// Nothing of it has begun; the agents that are there get their Spec elsewhere.
void JobState::begin_epoch() {
  phase_ = Phase::starting;
  cause_ = {};
  begun_ = false;
  searching_ = false;
  nodes_ready_ = nodes_done_ = ranks_started_ = 0;
  nodes_.assign(placement_.nodes.size(), {});
  ranks_.assign(placement_.ranks.size(), {});
  for (const Node& place : placement_.nodes)
    node(place.node_rank).ranks_left = static_cast<int>(place.ranks.size());
  ranks_left_ = placement_.world_size();
  for (auto* at : {&say_waiting_at_, &kill_at_, &give_up_at_, &skew_at_}) at->reset();
  node_progressed();
}

void JobState::node_progressed() {
  start_by_.reset();
  if (phase_ == Phase::starting) start_by_ = now_ + policy_.start_timeout;
}

void JobState::handle(const AgentGreeted& event) {
  AgentRecord& agent = agents_[event.agent];
  if (agent.stage != Stage::opening) return;
  agent.last_heard = now_;
  agent.stage = agent.again ? Stage::sweeping : Stage::idle;
  node_progressed();
  if (agent.again) return act(SendSweep{event.agent});
  if (agent.node >= 0) return give_spec(event.agent);
  advance();
}

void JobState::handle(const AgentSwept& event) {
  AgentRecord& agent = agents_[event.agent];
  if (agent.stage != Stage::sweeping) return;
  agent.stage = Stage::idle;
  for (NodeLoss& loss : verdict_.losses) {
    if (loss.swept_by != event.agent) continue;
    loss.sweep = NodeLoss::Sweep::done;
    loss.killed = event.killed;
  }
  if (phase_ == Phase::stopping) return dismiss(event.agent);
  advance();
}

void JobState::give_spec(int agent) {
  agents_[agent].stage = Stage::preparing;
  act(SendSpec{agent, agents_[agent].node});
}

void JobState::handle(const AgentReady& event) {
  AgentRecord& agent = agents_[event.agent];
  if (agent.stage != Stage::preparing) return;
  agent.stage = Stage::ready;
  if (agent.node == 0) port_ = event.port;
  ++nodes_ready_;
  node_progressed();
  begin_when_ready();
}

/// Every node has answered, for good or bad: now it starts, or all bad ones are named.
void JobState::begin_when_ready() {
  if (phase_ != Phase::starting) return;
  fill_vacancies();
  const std::size_t settled = static_cast<std::size_t>(nodes_ready_) + vacant_.size();
  if (settled < nodes_.size()) return;
  if (vacant_.empty()) {
    if (searching_) return;
    const bool known = found_with_ == agents_by_node();
    searching_ = policy_.find_master && !(known && found_epoch_ == placement_.epoch);
    if (searching_) return act(FindMaster{port_, known});
    phase_ = Phase::running;
    next_beat_ = std::min(next_beat_, now_ + beat_period());
    begun_ = true;
    return act(SendGo{port_});
  }
  if (vacancies_may_be_filled()) return;
  std::sort(vacant_.begin(), vacant_.end(),
            [](const BadNode& a, const BadNode& b) { return a.node < b.node; });
  std::string text = unreachable_text(placement_, vacant_);
  act(Say{text});
  stop({.kind = Cause::Kind::unreachable, .reason = std::move(text), .bad = vacant_});
}

std::vector<int> JobState::agents_by_node() const {
  std::vector<int> agents;
  for (const Node& place : placement_.nodes) agents.push_back(agents_.agent_of(place.node_rank));
  return agents;
}

void JobState::handle(const MasterFound&) {
  if (!std::exchange(searching_, false)) return;
  found_with_ = agents_by_node();
  found_epoch_ = placement_.epoch;
  begin_when_ready();
}

void JobState::handle(const MasterMissing& event) {
  if (!std::exchange(searching_, false)) return;
  act(Say{event.text});
  stop({.kind = Cause::Kind::unreachable, .reason = event.text});
}

/// Spares that wait take vacant places; true if none is left vacant.
bool JobState::fill_vacancies() {
  std::vector<BadNode> still_vacant;
  for (BadNode& vacancy : std::exchange(vacant_, {})) {
    const std::optional<int> agent = agents_.stand_in(slots_needed(vacancy.node));
    if (!agent) {
      still_vacant.push_back(std::move(vacancy));
      continue;
    }
    const std::string before = placement_.nodes[static_cast<std::size_t>(vacancy.node)].host.name;
    const bool same = before == host_name(*agent);
    act(Say{same ? fmt::format("{} is back in its place", before)
                 : fmt::format("{} takes the place of {} ({})", host_name(*agent), before,
                               vacancy.reason)});
    verdict_.replaced.push_back(
        fmt::format("{} by {}: {}", before, host_name(*agent), vacancy.reason));
    agents_.fill(vacancy.node, *agent);
    placement_ = with_host(std::move(placement_), vacancy.node, agents_.host_of(*agent));
    if (phase_ == Phase::starting) give_spec(*agent);
  }
  vacant_ = std::move(still_vacant);
  return vacant_.empty();
}

int JobState::slots_needed(int node) const {
  const Node& place = placement_.nodes[static_cast<std::size_t>(node)];
  // With more ranks than slots its own host was no better.
  return std::min(static_cast<int>(place.ranks.size()), place.host.slots);
}

bool JobState::vacancies_may_be_filled() const {
  return std::all_of(vacant_.begin(), vacant_.end(), [this](const BadNode& vacancy) {
    return agents_.coming(slots_needed(vacancy.node)) > 0;
  });
}

void JobState::handle(const RankStarted& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  ranks_[static_cast<std::size_t>(event.rank)].pid = event.pid;
  const bool all = ++ranks_started_ == placement_.world_size();
  if (!all || verdict_.restarts.empty() || verdict_.restarts.back().took) return;
  verdict_.restarts.back().took =
      std::chrono::duration_cast<std::chrono::microseconds>(now_ - failed_at_);
}

}  // namespace ds::launcher
