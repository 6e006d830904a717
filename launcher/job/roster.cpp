#include "launcher/job/roster.h"

#include "engine/base/error.h"

namespace ds::launcher {

Roster::Roster(const Placement& placement, const std::vector<Host>& spares) {
  for (const Node& node : placement.nodes) {
    by_node_.push_back(static_cast<int>(records_.size()));
    hosts_.push_back(node.host);
    add(static_cast<int>(hosts_.size()) - 1, node.node_rank, false);
  }
  for (const Host& spare : spares) {
    hosts_.push_back(spare);
    add(static_cast<int>(hosts_.size()) - 1, -1, false);
  }
}

void Roster::add(int host, int node, bool again) {
  records_.push_back({.host = host, .node = node, .again = again});
  if (node < 0) set_wait(static_cast<int>(records_.size()) - 1, Wait::coming);
}

const Host& Roster::host_of(int agent) const {
  return hosts_[static_cast<std::size_t>(record(agent).host)];
}

int Roster::add_again(int lost_agent) {
  add(record(lost_agent).host, -1, true);
  return static_cast<int>(records_.size()) - 1;
}

/// Changes whether an agent waits, and keeps the lists by slots.
void Roster::set_wait(int agent, Wait wait) {
  Record& record = this->record(agent);
  const int slots = host_of(agent).slots;
  if (record.wait == Wait::coming && --coming_[slots] == 0) coming_.erase(slots);
  if (record.wait == Wait::waiting) {
    const auto list = waiting_.find(slots);
    list->second.erase({record.again, agent});
    if (list->second.empty()) waiting_.erase(list);
  }
  record.wait = wait;
  if (wait == Wait::coming) ++coming_[slots];
  if (wait == Wait::waiting) waiting_[slots].insert({record.again, agent});
}

void Roster::waits(int agent) {
  DS_ASSERT(record(agent).node < 0);
  set_wait(agent, Wait::waiting);
}

void Roster::remove(int agent) {
  set_wait(agent, Wait::no);
  const int node = record(agent).node;
  if (node >= 0 && agent_of(node) == agent) by_node_[static_cast<std::size_t>(node)] = -1;
}

void Roster::vacate(BadNode why, int slots) {
  const int node = why.node;
  DS_ASSERT(agent_of(node) < 0);
  by_need_[slots].insert(node);
  vacant_[node] = {std::move(why), slots};
}

std::vector<BadNode> Roster::bad_nodes() const {
  std::vector<BadNode> bad;
  for (const auto& [node, vacancy] : vacant_) bad.push_back(vacancy.why);
  return bad;
}

std::optional<int> Roster::stand_in(int slots) const {
  const std::pair<bool, int>* best = nullptr;
  for (auto list = waiting_.lower_bound(slots); list != waiting_.end(); ++list)
    if (best == nullptr || *list->second.begin() < *best) best = &*list->second.begin();
  if (best == nullptr) return std::nullopt;
  return best->second;
}

std::optional<BadNode> Roster::fill_one() {
  for (auto need = by_need_.rbegin(); need != by_need_.rend(); ++need) {
    const std::optional<int> agent = stand_in(need->first);
    if (!agent) continue;
    const int node = *need->second.begin();
    need->second.erase(need->second.begin());
    if (need->second.empty()) by_need_.erase(need->first);
    set_wait(*agent, Wait::no);
    by_node_[static_cast<std::size_t>(node)] = *agent;
    record(*agent).node = node;
    return std::move(vacant_.extract(node).mapped().why);
  }
  return std::nullopt;
}

bool Roster::help_is_coming() const {
  if (vacant_.empty()) return true;
  return !coming_.empty() && coming_.rbegin()->first >= by_need_.rbegin()->first;
}

Placement with_host(Placement last, int node, const Host& host) {
  Node& place = last.nodes[static_cast<std::size_t>(node)];
  place.host = host;
  // Slots are numbers of one host: the new host may lack those of the lost one.
  for (const int rank : place.ranks) {
    RankPlace& rank_place = last.ranks[static_cast<std::size_t>(rank)];
    if (rank_place.slot >= host.slots) rank_place.slot = rank_place.local_rank;
  }
  return last;
}

}  // namespace ds::launcher
