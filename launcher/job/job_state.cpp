// The part of JobState that handles every event and starts an epoch.
#include "launcher/job/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/error.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {

JobState::JobState(Placement placement, JobPolicy policy, const std::vector<Host>& spares)
    : placement_(std::move(placement)),
      policy_(std::move(policy)),
      roster_(placement_, spares),
      fleet_({.node_timeout = policy_.node_timeout, .start_timeout = policy_.start_timeout}) {
  const int hosts = static_cast<int>(placement_.nodes.size() + spares.size());
  for (int host = 0; host < hosts; ++host) fleet_.add(host);
}

std::vector<Action> JobState::on(const Event& event, Clock::time_point now) {
  if (finished()) return {};
  now_ = now;
  fleet_.set_now(now);
  std::visit(
      [this](const auto& known) {
        if constexpr (requires { handle(known); })
          handle(known);
        else
          fleet_.on(known);
      },
      event);
  settle();
  take_fleet_actions();
  return std::exchange(actions_, {});
}

/// Decides once what follows from the marks of an event. Later lines depend on decisions of
/// earlier lines, never the reverse.
void JobState::settle() {
  for (const Fleet::News& news : fleet_.take_news()) take(news);
  if (phase_ == Phase::running && cause_.kind != Cause::Kind::none) act_on_failure();
  if (earlier_) take_earlier(*std::exchange(earlier_, std::nullopt));
  if (std::exchange(ticked_, false)) look_at_clock();
  if (wanted_) stop(*std::exchange(wanted_, std::nullopt));
  if (signo_) obey_signal(*std::exchange(signo_, std::nullopt));
  advance();
}

/// Continues if the event that the phase waits for has arrived.
void JobState::advance() {
  if (begun_ && ranks_left_ == 0 && !std::exchange(end_expected_, true))
    for (int agent = 0; agent < fleet_.size(); ++agent) fleet_.expect_end(agent, policy_.grace);
  if (phase_ == Phase::starting) begin_when_ready();
  if (phase_ == Phase::running && nodes_done_ == node_count()) end_well();
  if (phase_ == Phase::clearing) restart_when_cleared();
  if (phase_ == Phase::stopping) finish_when_done();
}

void JobState::take_fleet_actions() {
  if (!fleet_.has_actions()) return;
  for (FleetAction& action : fleet_.take_actions())
    std::visit([this](auto& known) { actions_.emplace_back(std::move(known)); }, action);
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
  if (policy_.timeout) deadline_at_ = now_ + *policy_.timeout;
  if (policy_.timeout && policy_.pre_signal)
    pre_signal_at_ = *deadline_at_ - policy_.pre_signal->before;
  begin_epoch();
  fleet_.begin();
  for (int agent = 0; agent < fleet_.size(); ++agent) fleet_.dial(agent);
}

/// Resets the state for a new epoch; its agents get their Spec elsewhere.
void JobState::begin_epoch() {
  phase_ = Phase::starting;
  cause_ = {};
  begun_ = end_expected_ = false;
  searching_ = false;
  nodes_ready_ = nodes_done_ = ranks_started_ = 0;
  nodes_.assign(placement_.nodes.size(), {});
  ranks_.assign(placement_.ranks.size(), {});
  for (const Node& place : placement_.nodes)
    node(place.node_rank).ranks_left = static_cast<int>(place.ranks.size());
  ranks_left_ = placement_.world_size();
  for (auto* at : {&say_waiting_at_, &skew_at_, &restart_at_}) at->reset();
  missing_said_for_ = kSayMissingAfter;
  say_missing_at_ = now_ + missing_said_for_;
}

/// Starts the epoch once every node is ready or has failed; names all bad nodes if any is vacant.
void JobState::begin_when_ready() {
  fill_vacancies();
  if (nodes_ready_ + roster_.vacancies() < node_count()) return;
  if (roster_.has_vacancies()) {
    if (!roster_.help_is_coming()) cannot_start();
    return;
  }
  if (searching_) return;
  const bool known = found_with_ == agents_by_node();
  searching_ = policy_.find_master && !(known && found_epoch_ == placement_.epoch);
  if (searching_) return act(FindMaster{port_, known});
  phase_ = Phase::running;
  begun_ = true;
  begun_at_ = now_;
  say_missing_at_.reset();
  for (const Node& place : placement_.nodes) fleet_.start(roster_.agent_of(place.node_rank));
  act(SendGo{port_});
}

void JobState::cannot_start() {
  std::vector<BadNode> bad = roster_.bad_nodes();
  std::string text = unreachable_text(placement_, bad);
  act(Say{text});
  stop({.kind = Cause::Kind::unreachable, .reason = std::move(text), .bad = std::move(bad)});
}

std::vector<int> JobState::agents_by_node() const {
  std::vector<int> agents;
  for (const Node& place : placement_.nodes) agents.push_back(roster_.agent_of(place.node_rank));
  return agents;
}

void JobState::handle(const MasterFound&) {
  if (!std::exchange(searching_, false)) return;
  found_with_ = agents_by_node();
  found_epoch_ = placement_.epoch;
}

void JobState::handle(const MasterMissing& event) {
  if (!std::exchange(searching_, false)) return;
  act(Say{event.text});
  wanted_ = {.kind = Cause::Kind::unreachable, .reason = event.text};
}

/// Fills vacant nodes with waiting agents, as far as they suffice.
void JobState::fill_vacancies() {
  while (const std::optional<BadNode> vacancy = roster_.fill_one()) {
    const int agent = roster_.agent_of(vacancy->node);
    const std::string before = placement_.nodes[static_cast<std::size_t>(vacancy->node)].host.name;
    const std::string& now = host_name(agent);
    act(Say{now == before
                ? fmt::format("{} is back in its place", before)
                : fmt::format("{} takes the place of {} ({})", now, before, vacancy->reason)});
    verdict_.replaced.push_back(fmt::format("{} by {}: {}", before, now, vacancy->reason));
    placement_ = with_host(std::move(placement_), vacancy->node, roster_.host_of(agent));
    if (phase_ == Phase::starting) fleet_.give_spec(agent, vacancy->node);
  }
}

/// Returns "still waiting for 2 of 8 nodes: node[3-4]"; empty if all are ready.
std::string JobState::missing_text() const {
  // A list of names that cannot be folded must not fill the screen.
  constexpr std::size_t kRoom = 400;
  std::vector<std::string> names;
  for (const Node& place : placement_.nodes) {
    const int agent = roster_.agent_of(place.node_rank);
    if (agent < 0 || fleet_.stage(agent) < Stage::ready) names.push_back(place.host.name);
  }
  if (names.empty()) return {};
  std::string folded = fold_names(names);
  if (folded.size() > kRoom) folded = folded.substr(0, kRoom) + "...";
  return printable(fmt::format("still waiting for {} of {}: {}", names.size(),
                               count_of(node_count(), "node"), folded));
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
