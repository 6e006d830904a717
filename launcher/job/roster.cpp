// Agents by number, and the choice of a stand-in.
#include "launcher/job/roster.h"

#include "engine/base/error.h"

namespace ds::launcher {

using Stage = AgentRecord::Stage;

Roster::Roster(const Placement& placement, const std::vector<Host>& spares) {
  for (const Node& node : placement.nodes) {
    by_node_.push_back(size());
    agents_.push_back({.host = size(), .node = node.node_rank});
    hosts_.push_back(node.host);
  }
  for (const Host& spare : spares) {
    agents_.push_back({.host = size()});
    hosts_.push_back(spare);
  }
}

AgentRecord& Roster::operator[](int agent) {
  DS_ASSERT(agent >= 0 && agent < size());
  return agents_[static_cast<std::size_t>(agent)];
}

const AgentRecord& Roster::operator[](int agent) const {
  DS_ASSERT(agent >= 0 && agent < size());
  return agents_[static_cast<std::size_t>(agent)];
}

const Host& Roster::host_of(int agent) const {
  return hosts_[static_cast<std::size_t>((*this)[agent].host)];
}

int Roster::dial_again(int lost_agent) {
  agents_.push_back({.host = (*this)[lost_agent].host, .again = true});
  return size() - 1;
}

void Roster::remove(int agent) {
  AgentRecord& record = (*this)[agent];
  record.stage = Stage::gone;
  if (record.node >= 0) by_node_[static_cast<std::size_t>(record.node)] = -1;
}

std::optional<int> Roster::stand_in(int slots) const {
  for (const bool again : {false, true}) {
    for (int agent = 0; agent < size(); ++agent) {
      const AgentRecord& record = (*this)[agent];
      const bool waits = record.node < 0 && record.stage == Stage::idle;
      if (waits && record.again == again && host_of(agent).slots >= slots) return agent;
    }
  }
  return std::nullopt;
}

int Roster::coming(int slots) const {
  int count = 0;
  for (int agent = 0; agent < size(); ++agent) {
    const AgentRecord& record = (*this)[agent];
    const bool on_its_way = record.stage == Stage::opening || record.stage == Stage::sweeping;
    if (record.node < 0 && on_its_way && host_of(agent).slots >= slots) ++count;
  }
  return count;
}

void Roster::fill(int node, int agent) {
  DS_ASSERT(by_node_[static_cast<std::size_t>(node)] < 0 && (*this)[agent].node < 0);
  by_node_[static_cast<std::size_t>(node)] = agent;
  (*this)[agent].node = node;
}

Placement with_host(Placement last, int node, const Host& host) {
  Node& place = last.nodes[static_cast<std::size_t>(node)];
  place.host = host;
  // Slots are the host's own numbers: those of the lost one may not be there.
  for (const int rank : place.ranks) {
    RankPlace& rank_place = last.ranks[static_cast<std::size_t>(rank)];
    if (rank_place.slot >= host.slots) rank_place.slot = rank_place.local_rank;
  }
  return last;
}

}  // namespace ds::launcher
