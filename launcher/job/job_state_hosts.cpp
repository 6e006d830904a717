// The part of JobState for jobs whose number of nodes may change that follows each host: dials it,
// checks it before it joins, adds it, lets it leave.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

/// Handles the end of an agent without ranks: dials its host again, ever less often.
void JobState::host_away(int agent, const std::string& reason, const std::string& stage) {
  const int host = roster_.host_number(agent);
  roster_.remove(agent);
  std::erase(held_, agent);
  hosts_.lost(host);
  if (has_left(host)) return redial_after(std::chrono::milliseconds(0), agent);
  if (hosts_.is_retired(host) && !is_unswept(agent)) return;
  const int tries = hosts_.failed(host);
  const bool first = !is_placed();
  if (first && tries == 0 && host < node_count()) absent_.push_back({host, reason, stage});
  if (!first && tries == 0 && loss_of(agent) == nullptr && !refused_.contains(host) &&
      !policy_.elastic->known)
    act(Say{printable(reason) + "; dialing it again until the job ends"});
  redial_after(HostHistory::delay_after(tries), agent);
}

/// Lets an agent without a node take part in the next epoch.
void JobState::agent_waits(int agent) {
  if (elastic() && shall_leave(agent)) {
    roster_.remove(agent);
    return fleet_.dismiss(agent);
  }
  if (elastic() && hosts_.joins(roster_.host_number(agent))) return check(agent);
  host_fits(agent);
}

/// Finds out whether the ranks could run on the host of an agent that has no node. Until then the
/// agent does not wait, so that a host that does not fit disturbs nobody.
void JobState::check(int agent) {
  checked_.insert(agent);
  fleet_.limit_time(agent, kCheckWithin);
  act(CheckHost{agent});
}

void JobState::handle(const HostChecked& event) {
  if (!fleet_.is_limited(event.agent) || phase_ >= Phase::stopping) return;
  fleet_.unlimit(event.agent);
  if (event.problem.empty())
    host_fits(event.agent);
  else
    refuse(event.agent, event.problem);
}

/// Dials a host that does not fit again, ever less often. The reason is said when it is new.
void JobState::refuse(int agent, const std::string& problem) {
  const int host = roster_.host_number(agent);
  roster_.remove(agent);
  fleet_.dismiss(agent);
  if (std::exchange(refused_[host], problem) == problem) return;
  act(Say{printable(fmt::format("{} cannot join: {}; once that is mended, it joins: it is checked "
                                "again at least every {}",
                                host_name(agent), problem,
                                span_text(HostHistory::kLongestDelay)))});
}

void JobState::host_fits(int agent) {
  roster_.waits(agent);
  if (!elastic()) return;
  const int host = roster_.host_number(agent);
  refused_.erase(host);
  std::erase_if(absent_, [host](const BadNode& bad) { return bad.node == host; });
}

void JobState::handle(const HostAdded& event) {
  if (!may_change()) return;
  std::erase_if(held_, [&](int agent) {
    const bool is_same = host_name(agent) == event.host.name;
    if (is_same) let_go(agent);
    return is_same;
  });
  // Processes may be left there of when it was in the job before.
  const bool again = std::ranges::count(roster_.hosts(), event.host.name, &Host::name) > 0;
  const int host = roster_.add_host(event.host);
  dial(roster_.add_agent(host, again), again, policy_.start_timeout);
}

void JobState::handle(const HostRetired& event) {
  if (!may_change() || hosts_.is_retired(event.host)) return;
  if (policy_.trains && is_one_of(roster_.seated_agents(), event.host)) keepers_.insert(event.host);
  retire(event.host);
  leave_if_too_large(roster_.hosts()[static_cast<std::size_t>(event.host)].name + " must leave");
}

/// Lets a host leave for good. If it was lost, it is still dialed until its leftover processes are
/// killed.
void JobState::retire(int host) {
  hosts_.retire(host);
  std::erase_if(absent_, [host](const BadNode& bad) { return bad.node == host; });
  std::erase_if(redials_, [&](const auto& redial) {
    return roster_.host_number(redial.second) == host && !is_unswept(redial.second);
  });
  for (int agent = 0; agent < fleet_.size(); ++agent) {
    const Stage stage = fleet_.stage(agent);
    if (roster_.host_number(agent) != host || roster_.node_of(agent) >= 0) continue;
    if (stage == Stage::idle) fleet_.dismiss(agent);
    const bool comes = stage == Stage::opening || stage == Stage::sweeping;
    if (comes && !is_unswept(agent)) fleet_.close(agent);
    if (stage != Stage::gone) roster_.remove(agent);
  }
}

/// Returns whether a failure of a rank has its reason in a host that joins in this epoch, so that
/// the other hosts can go on without it: the program cannot be run there, or refuses what it finds.
bool JobState::is_of_joiner(const Cause& cause) const {
  if (!elastic() || cause.kind != Cause::Kind::rank) return false;
  const int agent = roster_.agent_of(cause.node);
  const int host = agent < 0 ? -1 : roster_.host_number(agent);
  const bool asks = cause.end.status.code() == contract::kExitDoNotRestart;
  return host >= 0 && !asks && (hosts_.joins(host) || hosts_.is_retired(host)) &&
         why_never_restarted(cause);
}

std::string JobState::end_of_joiner(const Cause& cause) {
  return cause.end.cause.empty()
             ? fmt::format("rank {} {}, as its output says", cause.rank, describe(cause.end))
             : describe(cause.end);
}

/// Ends the epoch, whose next one does without these nodes.
void JobState::drop_joiners(const std::vector<int>& nodes, const std::string& reason) {
  std::vector<std::string> names;
  for (const int node : nodes) {
    retire_joiner(node, reason);
    names.push_back(node_name(placement_, node));
  }
  begin_change({.kind = Change::left,
                .why = printable(fmt::format("{} cannot take part", fold_names(names)))});
}

void JobState::retire_joiner(int node, const std::string& reason) {
  const int host = roster_.host_number(roster_.agent_of(node));
  keepers_.erase(host);
  if (hosts_.is_retired(host)) return;
  act(Say{printable(fmt::format("{0} cannot join: {1}; the job goes on without it; once that is "
                                "mended, add it again with: dslaunch scale --add {0}",
                                node_name(placement_, node), reason))});
  retire(host);
}

/// No address of node 0 is reached by all. If only hosts that join are cut off, the job does without
/// them.
void JobState::master_missing(const MasterMissing& event) {
  act(Say{event.text});
  const auto joins = [this](int node) {
    return elastic() && hosts_.joins(roster_.host_number(roster_.agent_of(node)));
  };
  if (!event.cut_off.empty() && std::ranges::all_of(event.cut_off, joins))
    return drop_joiners(event.cut_off,
                        "it does not reach " + placement_.nodes.front().host.name);
  wanted_ = {.kind = Cause::Kind::unreachable, .reason = event.text};
}

std::vector<HostRole> JobState::host_roles() const {
  std::vector<HostRole> roles(roster_.hosts().size(), HostRole::away);
  const auto set = [&](int agent, HostRole role) {
    roles[static_cast<std::size_t>(roster_.host_number(agent))] = role;
  };
  for (const int agent : roster_.waiting_agents()) set(agent, HostRole::waits);
  for (const int agent : roster_.seated_agents()) set(agent, HostRole::takes_part);
  for (std::size_t host = 0; host < roles.size(); ++host)
    if (hosts_.is_retired(static_cast<int>(host))) roles[host] = HostRole::retired;
  return roles;
}

}  // namespace ds::launcher
