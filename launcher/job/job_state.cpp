// The part of JobState that handles every event, starts an epoch, and depends on time: deadlines,
// lines about missing nodes and ranks, suspension.
#include "launcher/job/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {

using namespace std::chrono_literals;

namespace {

/// Returns the placement on all hosts of a job whose nodes are chosen later; nodes then have the
/// numbers of their hosts.
Placement placed_on_all(Placement placement, const JobPolicy& policy,
                        const std::vector<Host>& spares) {
  if (!policy.elastic) return placement;
  std::vector<Host> hosts;
  for (Node& node : placement.nodes) hosts.push_back(std::move(node.host));
  hosts.insert(hosts.end(), spares.begin(), spares.end());
  Placement all = place_groups(hosts, policy.elastic->placing, placement.epoch);
  DS_ASSERT(all.nodes.size() == hosts.size());
  return all;
}

/// Returns "still waiting for 2 of 8 nodes: node[3-4]"; empty if there are no names.
std::string still_waiting(const std::vector<std::string>& names, const std::string& of) {
  // A list of names that cannot be folded must not fill the screen.
  constexpr std::size_t kRoom = 400;
  if (names.empty()) return {};
  std::string folded = fold_names(names);
  if (folded.size() > kRoom) folded = folded.substr(0, kRoom) + "...";
  return printable(fmt::format("still waiting for {} of {}: {}", names.size(), of, folded));
}

}  // namespace

JobState::JobState(Placement placement, JobPolicy policy, const std::vector<Host>& spares)
    : placement_(placed_on_all(std::move(placement), policy, spares)),
      policy_(std::move(policy)),
      roster_(placement_, elastic() ? std::vector<Host>{} : spares, /*open=*/elastic()),
      fleet_({.node_timeout = policy_.node_timeout, .start_timeout = policy_.start_timeout}),
      most_nodes_(elastic() ? policy_.elastic->nodes.most : 0),
      most_ranks_(elastic() ? elastic_ranks(roster_.hosts(), policy_.elastic->placing,
                                            policy_.elastic->nodes)
                                  .most
                            : 0) {
  const int hosts = static_cast<int>(roster_.hosts().size());
  for (int host = 0; host < hosts; ++host) fleet_.add(host);
}

std::vector<Action> JobState::on(const Event& event, Clock::time_point now) {
  if (finished()) return {};
  now_ = now;
  fleet_.set_now(now);
  alarms_.set_now(now);
  std::visit(
      [this](const auto& known) {
        if constexpr (requires { handle(known); })
          handle(known);
        else
          fleet_.on(known);
      },
      event);
  settle();
  fleet_.take_actions(actions_);
  return std::exchange(actions_, {});
}

/// Decides once what follows from the marks of an event. Later lines depend on decisions of
/// earlier lines, never the reverse.
void JobState::settle() {
  for (const Fleet::News& news : fleet_.take_news()) take(news);
  if (phase_ == Phase::running && cause_.kind != Cause::Kind::none) act_on_failure();
  if (std::exchange(spoiled_, false) && phase_ == Phase::clearing) pause_spoiled();
  if (earlier_) take_earlier(*std::exchange(earlier_, std::nullopt));
  if (std::exchange(paused_, false) && phase_ == Phase::running) ranks_paused();
  if (std::exchange(ticked_, false)) look_at_clock();
  if (missing_) master_missing(*std::exchange(missing_, std::nullopt));
  if (wanted_) stop(*std::exchange(wanted_, std::nullopt));
  if (signo_) obey_signal(*std::exchange(signo_, std::nullopt));
  advance();
}

/// Continues if the event that the phase waits for has arrived.
void JobState::advance() {
  if (begun_ && ranks_left_ == 0 && !std::exchange(end_expected_, true))
    for (int agent = 0; agent < fleet_.size(); ++agent) fleet_.expect_end(agent, policy_.grace);
  if (phase_ == Phase::starting) begin_when_ready();
  if (!ending_.empty() && phase_ < Phase::stopping) let_hosts_leave();
  if (phase_ == Phase::running && elastic()) invite_joiners();
  if (phase_ == Phase::running && nodes_done_ == node_count()) {
    phase_ = Phase::stopping;
    release_agents();
  }
  if (phase_ == Phase::clearing) restart_when_cleared();
  if (phase_ == Phase::stopping) finish_when_done();
}

void JobState::handle(const Start&) {
  started_at_ = failed_at_ = now_;
  if (policy_.timeout) alarms_.set(Alarm::deadline, *policy_.timeout);
  if (policy_.timeout && policy_.pre_signal)
    alarms_.set(Alarm::pre_signal, *policy_.timeout - policy_.pre_signal->before);
  begin_epoch();
  if (elastic() && policy_.elastic->begin_within)
    alarms_.set(Alarm::gather, *policy_.elastic->begin_within);
  fleet_.begin();
  for (int agent = 0; agent < fleet_.size(); ++agent) fleet_.dial(agent);
}

/// Resets the state for a new epoch; its agents get their Spec elsewhere.
void JobState::begin_epoch() {
  phase_ = Phase::starting;
  cause_ = {};
  begun_ = end_expected_ = searching_ = false;
  nodes_ready_ = nodes_done_ = ranks_started_ = 0;
  nodes_.assign(placement_.nodes.size(), {});
  ranks_.assign(placement_.ranks.size(), {});
  for (const Node& place : placement_.nodes)
    node(place.node_rank).ranks_left = static_cast<int>(place.ranks.size());
  ranks_left_ = placement_.world_size();
  clear_alarms_of_epoch();
  missing_said_for_ = kSayMissingAfter;
  alarms_.set(Alarm::say_missing, missing_said_for_);
}

/// Starts the epoch once every node is ready or has failed; names all bad nodes if any is vacant.
void JobState::begin_when_ready() {
  if (!is_placed()) return gather();
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
  unbegun_since_.reset();
  begun_at_ = now_;
  alarms_.clear(Alarm::say_missing);
  for (const int agent : roster_.seated_agents()) {
    fleet_.start(agent);
    hosts_.began(roster_.host_number(agent));
  }
  act(SendGo{port_});
}

void JobState::cannot_start() {
  std::vector<BadNode> bad = roster_.bad_nodes();
  std::string text = unreachable_text(placement_, bad);
  act(Say{text});
  stop({.kind = Cause::Kind::unreachable, .reason = std::move(text), .bad = std::move(bad)});
}

void JobState::handle(const MasterFound&) {
  if (!std::exchange(searching_, false)) return;
  found_with_ = agents_by_node();
  found_epoch_ = placement_.epoch;
}

void JobState::handle(const MasterMissing& event) {
  if (std::exchange(searching_, false)) missing_ = event;
}

/// Fills vacant nodes with waiting agents, as far as they suffice.
void JobState::fill_vacancies() {
  while (const std::optional<BadNode> vacancy = roster_.fill_one()) {
    const int agent = roster_.agent_of(vacancy->node);
    const std::string before = node_name(placement_, vacancy->node);
    const std::string& now = host_name(agent);
    const std::string reason = printable(vacancy->reason);
    act(Say{now == before ? fmt::format("{} is back in its place", before)
                          : fmt::format("{} takes the place of {} ({})", now, before, reason)});
    verdict_.replaced.push_back(fmt::format("{} by {}: {}", before, now, reason));
    placement_ = with_host(std::move(placement_), vacancy->node, roster_.host_of(agent));
    if (phase_ == Phase::starting) fleet_.give_spec(agent, vacancy->node);
  }
}

/// Returns which nodes are not ready; empty if all are.
std::string JobState::missing_text() const {
  if (!is_placed()) return absent_text();
  std::vector<std::string> names;
  for (const Node& place : placement_.nodes) {
    const int agent = roster_.agent_of(place.node_rank);
    if (agent < 0 || fleet_.stage(agent) < Stage::ready) names.push_back(place.host.name);
  }
  return still_waiting(names, counted(node_count(), "node"));
}

/// Returns which hosts have not answered while the nodes of an epoch are chosen.
std::string JobState::absent_text() const {
  const std::vector<HostRole> roles = host_roles();
  std::vector<std::string> names;
  for (std::size_t host = 0; host < roles.size(); ++host)
    if (roles[host] == HostRole::away) names.push_back(roster_.hosts()[host].name);
  return still_waiting(names, counted(static_cast<int>(roles.size()), "host"));
}

void JobState::handle(const RankStarted& event) {
  DS_ASSERT(event.rank >= 0 && event.rank < placement_.world_size());
  rank(event.rank).pid = event.pid;
  if (++ranks_started_ != placement_.world_size()) return;
  if (elastic()) record_start();
  const bool counted = !elastic() || (is_placed() && verdict_.epochs.back().counted);
  if (counted && !verdict_.restarts.empty() && !verdict_.restarts.back().took)
    verdict_.restarts.back().took = micros(now_ - failed_at_);
}

Clock::time_point JobState::wake_at() const {
  if (fleet_.suspended() || only_writes()) return Clock::time_point::max();
  const Clock::time_point at = std::min(fleet_.wake_at(), alarms_.next());
  return redials_.empty() ? at : std::min(at, redials_.front().first);
}

void JobState::handle(const Tick&) {
  if (fleet_.suspended() || only_writes()) return;
  fleet_.on(Tick{});
  ticked_ = true;
}

void JobState::look_at_clock() {
  redial();
  if (alarms_.fires(Alarm::pre_signal)) send_pre_signal();
  if (alarms_.fires(Alarm::deadline)) wanted_ = deadline_cause();
  if (alarms_.fires(Alarm::skew)) warn_of_skew();
  if (alarms_.fires(Alarm::say_waiting)) say_waiting();
  if (alarms_.fires(Alarm::say_missing)) say_missing();
  if (elastic()) look_at_members_clock();
}

void JobState::say_waiting() {
  const auto left = policy_.grace - std::chrono::milliseconds(kSayWaitingAfter);
  if (ranks_left_ > 0 && left > 0ms) {
    const bool failed = cause_.kind != Cause::Kind::none;
    act(Say{waiting_text(failed ? cause_text(placement_, cause_) : change_.why, ranks_left_, left)});
  } else if (ranks_left_ == 0 && alarms_.is_ahead(Alarm::sweep) && waits_for_sweep() &&
             !(elastic() && phase_ == Phase::clearing)) {  // such an epoch does not wait for it
    const auto span = std::chrono::ceil<std::chrono::seconds>(alarms_.left(Alarm::sweep));
    act(Say{fmt::format("{}; retrying for up to {} to clean up leftover processes",
                        printable(cause_text(placement_, cause_)), span_text(span))});
  }
}

/// Names missing nodes, at growing intervals.
void JobState::say_missing() {
  if (phase_ != Phase::starting) return;
  missing_said_for_ *= 2;
  alarms_.set(Alarm::say_missing, missing_said_for_);
  if (std::string text = missing_text(); !text.empty()) act(Say{std::move(text)});
}

void JobState::send_pre_signal() {
  if (phase_ >= Phase::stopping) return;
  if (phase_ != Phase::running || ranks_left_ == 0)  // the ranks of the next epoch get it
    return alarms_.set(Alarm::pre_signal, kPreSignalAgain);
  using Tenths = std::chrono::duration<std::int64_t, std::deci>;
  const auto left = std::chrono::ceil<Tenths>(alarms_.left(Alarm::deadline));
  act(SignalRanks{policy_.pre_signal->signo});
  act(Say{fmt::format("{} until the deadline: sending {} to all ranks", span_text(left),
                      signal_name(policy_.pre_signal->signo))});
}

Cause JobState::deadline_cause() const {
  Cause cause{.kind = Cause::Kind::deadline, .span = *policy_.timeout};
  if (phase_ == Phase::clearing && nodes_done_ == node_count() && elastic())
    cause.reason = absent_text();
  else if (phase_ == Phase::clearing && nodes_done_ == node_count())
    cause.reason = fmt::format("the job was waiting for restart {} of {}", verdict_.restarts.size(),
                               policy_.max_restarts);
  else if (begun_)
    cause.running = running_ranks();
  else if (cause.reason = missing_text(); cause.reason.empty())
    cause.reason = "the ranks had not begun";
  return cause;
}

void JobState::warn_of_skew() {
  Cause cause{
      .kind = Cause::Kind::skew, .running = running_ranks(), .span = policy_.exit_skew.after};
  if (!policy_.exit_skew.stop) return act(Say{printable(cause_text(placement_, cause))});
  wanted_ = std::move(cause);
}

void JobState::handle(const Continued&) {
  const std::optional<Clock::duration> pause = fleet_.resume();
  if (!pause) return;
  alarms_.shift(*pause);
  for (auto& [at, agent] : redials_) at += *pause;
  begun_at_ += *pause;
}

}  // namespace ds::launcher
