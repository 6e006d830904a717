// The part of JobState that lets hosts leave by plan: removed ones, and those whose nodes were told
// to end, as pods are when a StatefulSet gets smaller. The latter may come back.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

void JobState::handle(const HostsEnd& event) {
  if (!may_change()) return;
  for (const int host : event.hosts) {
    if (!hosts_.is_retired(host))
      ending_.insert(host);
    else if (has_agent(host))
      let_go_.insert(host);
    else
      act(LetGo{host});
  }
}

/// Returns whether an agent of the host lives.
bool JobState::has_agent(int host) const {
  for (int agent = 0; agent < fleet_.size(); ++agent)
    if (roster_.host_number(agent) == host && fleet_.stage(agent) != Stage::gone) return true;
  return false;
}

/// Returns how many hosts are there that were not told to end.
int JobState::staying() const {
  const auto stays = [this](int agent) {
    return !shall_leave(agent) && !ending_.contains(roster_.host_number(agent));
  };
  return static_cast<int>(std::ranges::count_if(roster_.seated_agents(), stays) +
                          std::ranges::count_if(roster_.waiting_agents(), stays));
}

/// Lets hosts leave, of a training one at a time: each state is kept on two nodes, which could be
/// the two that leave. The job stops as by TERM if too few would be left.
void JobState::let_hosts_leave() {
  // Before the first step of an epoch, TERM would end the ranks of a training without a checkpoint.
  const auto pauses = [this] { return alarms_.is_set(Alarm::pause); };
  const bool settled = policy_.trains ? phase_ == Phase::running && has_stepped() && !pauses()
                                      : phase_ <= Phase::running;
  const int least = settled ? policy_.elastic->nodes.least : 1;  // all are told when a job is ended
  if (is_placed() && staying() < least) {
    stopped_by_nodes_ = true;
    return obey_signal(SIGTERM);
  }
  std::set<int> with_ranks;
  for (const int agent : roster_.seated_agents()) with_ranks.insert(roster_.host_number(agent));
  for (const int host : std::set(ending_)) {
    if (policy_.trains && with_ranks.contains(host) && (!settled || pauses())) continue;
    ending_.erase(host);
    let_leave(host);
  }
}

/// Lets a host leave whose node was told to end. It is dialed again: it may come back.
void JobState::let_leave(int host) {
  returning_.insert(host);
  if (!is_one_of(roster_.seated_agents(), host)) act(LetGo{host});
  handle(HostRetired{host});
  const auto is_there = [&](int agent) { return roster_.host_number(agent) == host; };
  if (has_agent(host)) return;  // host_away() follows
  for (const auto& [at, agent] : redials_)
    if (is_there(agent)) return;
  int last = fleet_.size() - 1;
  while (last >= 0 && !is_there(last)) --last;
  if (last >= 0 && has_left(host)) redial_after(std::chrono::milliseconds(0), last);
}

/// The agent of a host is gone. Returns whether the host had left because its node was told to end:
/// then it may come back.
bool JobState::has_left(int host) {
  ending_.erase(host);
  keepers_.erase(host);
  if (let_go_.erase(host) > 0) act(LetGo{host});
  if (returning_.erase(host) == 0) return false;
  hosts_.may_return(host, kFewTries);  // the end of the job does not wait for it
  return true;
}

/// Takes agents whose hosts shall leave off their nodes, once none of their ranks is left. Those of
/// a training hold states of which only one other copy is left: they stay until the next epoch has
/// kept its own. If a node is lost before, they take part once more. One host leaves at a time: two
/// may have the copies of each other.
void JobState::drop_retired() {
  if (hosts_.retired() == 0) return;
  for (const int agent : roster_.seated_agents()) {
    if (!shall_leave(agent)) continue;
    const bool holds = keeps_ && keepers_.contains(roster_.host_number(agent));
    if (holds && !held_.empty()) continue;
    roster_.leave(agent);
    left_.push_back(host_name(agent));
    if (holds)
      held_.push_back(agent);
    else
      let_go(agent);
  }
}

/// Lets hosts leave that have taken part once more.
void JobState::leave_after_all() {
  if (phase_ != Phase::running || staying() < policy_.elastic->nodes.least) return;
  std::vector<std::string> names;
  for (const int agent : roster_.seated_agents())
    if (shall_leave(agent)) names.push_back(host_name(agent));
  if (!names.empty()) end_epoch(Change::left, fold_names(names) + " must leave");
}

/// Lets an agent without a node end.
void JobState::let_go(int agent) {
  const int host = roster_.host_number(agent);
  if (returning_.contains(host) || let_go_.erase(host) > 0) act(LetGo{host});
  if (fleet_.stage(agent) == Stage::idle) fleet_.dismiss(agent);
}

/// All ranks have kept their states in this epoch, or have not for a long time: nobody needs older
/// ones.
void JobState::forget_earlier_states() {
  alarms_.clear(Alarm::hold);
  lost_node_ = false;
  for (const int agent : std::exchange(held_, {})) let_go(agent);
  leave_after_all();
}

}  // namespace ds::launcher
