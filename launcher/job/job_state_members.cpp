// The part of JobState for jobs whose number of nodes may change (--nodes MIN:MAX) that gathers the
// hosts of each epoch and places the ranks on them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/units.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

/// Begins an epoch once enough hosts are there, or ends the job if they do not come.
void JobState::gather() {
  const bool first = !is_placed();
  if (!first && !change_.stopped) {
    change_.stopped = micros(now_ - failed_at_);
    if (const std::optional<std::string> why = why_none_left(); why && change_.counted) {
      cause_.note = *why;
      return stop(cause_);
    }
  }
  if (stop_signal_) {
    if (keeps_ && here() > 0) return begin_with_members();  // else the pause has saved
    return stop({.kind = Cause::Kind::signal, .signo = *stop_signal_});
  }
  drop_retired();
  if (alarms_.is_ahead(Alarm::restart)) return;
  const ElasticPolicy& policy = *policy_.elastic;
  const int here = this->here();
  const int coming = fleet_.unready();
  const Gathering now{.here = here,
                      .coming = first && policy.known
                                    ? std::clamp(*policy.known - here, 0, coming)
                                    : coming,
                      .before = first ? 0 : std::min(change_.nodes_before, hosts_left()),
                      .overdue = alarms_.is_over(Alarm::gather),
                      .earlier = first && awaits_earlier_host(),
                      .nodes = {policy.nodes.least, most_nodes_},
                      .on_loss = policy.on_loss};
  const GatherStep step = gather_step(now);
  if (step == GatherStep::begin) return begin_with_members();
  if (step == GatherStep::give_up) return cannot_gather(first);
  if (first || alarms_.is_set(Alarm::gather)) return;
  alarms_.set(Alarm::gather, policy.max_wait);
  const int wanted = nodes_wanted();
  const bool keeps_size = wanted > policy.nodes.least;
  act(Say{fmt::format("waiting up to {} for hosts: {} of {}{} are ready{}",
                      span_text(policy.max_wait), here, keeps_size ? "" : "at least ", wanted,
                      keeps_size && here >= policy.nodes.least
                          ? "; after that the job goes on with fewer"
                          : "")});
}

/// Returns whether a host that may still answer precedes one of those that the first epoch would
/// have now.
bool JobState::awaits_earlier_host() const {
  if (roster_.waiting() < most_nodes_ || fleet_.unready() == 0) return false;
  const int agent = roster_.waiting_agents()[static_cast<std::size_t>(most_nodes_ - 1)];
  const int last = roster_.host_number(agent);
  for (int other = 0; other < fleet_.size(); ++other)
    if (fleet_.stage(other) == Stage::opening && !fleet_.again(other) &&
        roster_.host_number(other) < last)
      return true;
  return false;
}

/// Returns the number of nodes for which a later epoch waits.
int JobState::nodes_wanted() const {
  const ElasticPolicy& policy = *policy_.elastic;
  const bool keeps_size = policy.on_loss == OnLoss::wait;
  return std::max(policy.nodes.least,
                  keeps_size ? std::min(change_.nodes_before, hosts_left()) : 0);
}

std::string JobState::hosts_waited_for() const {
  if (phase_ != Phase::clearing || !alarms_.is_set(Alarm::gather)) return {};
  return fmt::format("{} of {} {} ready", here(), counted(nodes_wanted(), "node"),
                     here() == 1 ? "is" : "are");
}

/// Returns "n2 is also lost" for hosts that were lost after the cause of the change was known and
/// have not come back since; empty if there are none.
std::string JobState::also_lost_text() const {
  std::vector<std::string> names = also_lost_;
  for (const int agent : roster_.waiting_agents()) std::erase(names, host_name(agent));
  if (names.empty()) return {};
  return names_with(names, "is", "are") + " also lost";
}

/// Places the ranks on the hosts that are there.
void JobState::begin_with_members() {
  std::vector<int> agents = roster_.seated_agents();
  if (lost_node_) agents.insert(agents.end(), held_.begin(), held_.end());
  for (const int agent : roster_.waiting_agents()) agents.push_back(agent);
  std::vector<LiveHost> live;
  for (const int agent : agents) live.push_back({roster_.host_of(agent), roster_.node_of(agent)});
  const NodeRange range{stop_signal_ ? 1 : policy_.elastic->nodes.least, most_nodes_};
  const PlacementRequest& placing = policy_.elastic->placing;
  std::optional<NextPlacement> next = next_placement(placement_, live, placing, range);
  // Beside hosts that take part once more, others that were added in their place may be too many.
  while (next && next->placement.world_size() > most_ranks_ &&
         std::cmp_greater(live.size(), range.least)) {
    live.pop_back();
    next = next_placement(placement_, live, placing, range);
  }
  DS_ASSERT(next);
  const bool first = !is_placed();
  if (first) next->placement.epoch = placement_.epoch;
  if (change_.counted) verdict_.restarts.push_back({.why = change_.why});
  next->placement.restarts = static_cast<int>(verdict_.restarts.size());
  std::vector<int> chosen;
  for (const int index : next->chosen) chosen.push_back(agents[static_cast<std::size_t>(index)]);
  const std::string lost = also_lost_text();
  if (!lost.empty()) change_.why += "; " + printable(lost);
  say_members(next->placement, chosen, lost);
  std::erase_if(held_, [&](int agent) { return std::ranges::count(chosen, agent) > 0; });
  roster_.seat(chosen);
  for (const int agent : roster_.waiting_agents()) {
    if (!shall_leave(agent)) continue;
    roster_.remove(agent);  // it had a node and shall leave: it is held instead
    held_.push_back(agent);
  }
  placement_ = std::move(next->placement);
  change_.epoch = placement_.epoch;
  change_.nodes = static_cast<int>(placement_.nodes.size());
  change_.ranks = placement_.world_size();
  change_.placed = micros(now_ - failed_at_);
  verdict_.epochs.push_back(std::exchange(change_, {}));
  absent_.clear();
  begin_epoch();
  for (const int agent : chosen) {
    told_of_.erase(agent);
    fleet_.unlimit(agent);
    fleet_.give_spec(agent, roster_.node_of(agent));
  }
}

/// Says how the next epoch differs from the last one.
void JobState::say_members(const Placement& next, const std::vector<int>& chosen,
                           const std::string& lost) {
  const int nodes = static_cast<int>(next.nodes.size());
  if (!is_placed()) {
    if (absent_.empty()) return;
    std::vector<std::string> names;
    for (const BadNode& bad : absent_)
      names.push_back(roster_.hosts()[static_cast<std::size_t>(bad.node)].name);
    const bool dials_in = policy_.elastic->begin_within.has_value();
    act(Say{fmt::format(
        "{}\nbeginning with {}{}", unreachable_text(placement_, absent_), counted(nodes, "node"),
        dials_in ? ""
                 : printable(fmt::format("; {} dialed again until the job ends",
                                         names_with(names, "is", "are"))))});
    return;
  }
  std::vector<std::string> joined, again;
  for (const int agent : chosen)
    if (roster_.node_of(agent) < 0)
      (shall_leave(agent) ? again : joined).push_back(host_name(agent));
  std::string text = fmt::format("epoch {}: {} and {}", next.epoch, counted(nodes, "node"),
                                 counted(next.world_size(), "rank"));
  if (nodes != change_.nodes_before)
    text += fmt::format(" (before: {} and {})", change_.nodes_before, change_.ranks_before);
  if (!joined.empty()) text += "; " + names_with(joined, "joins", "join");
  std::erase_if(left_, [&](const auto& name) { return std::ranges::count(again, name) > 0; });
  if (!left_.empty()) text += "; " + names_with(left_, "leaves", "leave");
  left_.clear();
  if (!again.empty())
    text += "; " + names_with(again, "takes", "take") +
            " part once more with the states kept there";
  if (!lost.empty()) text += "; " + lost;
  if (change_.counted)
    text += fmt::format("; restart {} of {}", verdict_.restarts.size(), policy_.max_restarts);
  act(Say{printable(text)});
}

/// Ends the job: fewer hosts than the minimum are there.
void JobState::cannot_gather(bool first) {
  const int least = policy_.elastic->nodes.least;
  const int here = this->here();
  const std::string few = fmt::format("{} of at least {} {} ready", here, counted(least, "node"),
                                      here == 1 ? "is" : "are");
  if (first) {
    std::string text = absent_.empty() ? few : unreachable_text(placement_, absent_) + "\n" + few;
    act(Say{printable(text)});
    return stop({.kind = Cause::Kind::unreachable, .reason = text, .bad = absent_});
  }
  Cause cause = cause_;
  const std::string lost = also_lost_text();
  cause.note = fmt::format("{}{}{} after {}", lost, lost.empty() ? "" : "; ", few,
                           span_text(policy_.elastic->max_wait));
  if (cause.kind == Cause::Kind::none) {
    act(Say{printable(cause.note)});
    cause = {.kind = Cause::Kind::unreachable, .reason = cause.note};
  }
  stop(std::move(cause));
}

}  // namespace ds::launcher
