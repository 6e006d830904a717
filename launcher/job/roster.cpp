#include "launcher/job/roster.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {

Roster::Roster(const Placement& placement, const std::vector<Host>& spares) {
  for (const Node& node : placement.nodes) {
    hosts_.push_back(node.host);
    by_node_.push_back(add(node.node_rank, node.node_rank, false));
  }
  for (const Host& spare : spares) {
    hosts_.push_back(spare);
    add(static_cast<int>(hosts_.size()) - 1, -1, false);
  }
}

/// Returns the number of the new agent.
int Roster::add(int host, int node, bool again) {
  const int agent = static_cast<int>(records_.size());
  records_.push_back({.host = host, .node = node, .again = again});
  if (node < 0) set_wait(agent, Wait::coming);
  return agent;
}

/// Changes whether an agent waits, and keeps the lists by slots.
void Roster::set_wait(int agent, Wait wait) {
  Record& record = this->record(agent);
  const int slots = host_of(agent).slots;
  if (record.wait == Wait::coming) coming_.erase(coming_.find(slots));
  if (record.wait == Wait::waiting) waiting_.erase({slots, record.again, agent});
  record.wait = wait;
  if (wait == Wait::coming) coming_.insert(slots);
  if (wait == Wait::waiting) waiting_.insert({slots, record.again, agent});
}

void Roster::remove(int agent) {
  set_wait(agent, Wait::no);
  const int node = record(agent).node;
  if (node >= 0 && agent_of(node) == agent) by_node_[static_cast<std::size_t>(node)] = -1;
}

void Roster::vacate(BadNode why, int slots) {
  DS_ASSERT(agent_of(why.node) < 0);
  vacant_[{-slots, why.node}] = std::move(why);
}

std::vector<BadNode> Roster::bad_nodes() const {
  std::vector<BadNode> bad;
  for (const auto& [key, why] : vacant_) bad.push_back(why);
  std::ranges::sort(bad, {}, &BadNode::node);
  return bad;
}

std::optional<int> Roster::stand_in(int slots) const {
  std::optional<std::pair<bool, int>> best;
  for (auto first = waiting_.lower_bound({slots, false, 0}); first != waiting_.end();
       first = waiting_.lower_bound({std::get<0>(*first) + 1, false, 0})) {
    const auto [has, again, agent] = *first;
    if (!best || std::pair(again, agent) < *best) best = {again, agent};
  }
  return best ? std::optional(best->second) : std::nullopt;
}

std::optional<BadNode> Roster::fill_one() {
  for (auto first = vacant_.begin(); first != vacant_.end();
       first = vacant_.lower_bound({first->first.first + 1, 0})) {
    const std::optional<int> agent = stand_in(-first->first.first);
    if (!agent) continue;
    set_wait(*agent, Wait::no);
    const int node = record(*agent).node = first->second.node;
    by_node_[static_cast<std::size_t>(node)] = *agent;
    return std::move(vacant_.extract(first).mapped());
  }
  return std::nullopt;
}

bool Roster::help_is_coming() const {
  return vacant_.empty() ||
         (!coming_.empty() && *coming_.rbegin() >= -vacant_.begin()->first.first);
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
