// Maps agents to nodes: one agent per host, waiting spares, lost hosts that were dialed again,
// and vacant nodes. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "launcher/hosts/placement.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

/// Agents are numbered as in Fleet: those of the placement by node rank, then the spares, then
/// those that were added.
/// Promise: a host that was lost fills a node again only if no other spare can.
/// Cost:    O(log agents), times the different numbers of slots that hosts have.
class Roster {
 public:
  /// `open`: no agent has a node before seat() gives it one.
  Roster(const Placement& placement, const std::vector<Host>& spares, bool open = false) {
    for (const Node& node : placement.nodes) {
      hosts_.push_back(node.host);
      const int agent = add(node.node_rank, open ? -1 : node.node_rank, false);
      by_node_.push_back(open ? -1 : agent);
      seated_ += open ? 0 : 1;
    }
    for (const Host& spare : spares) {
      hosts_.push_back(spare);
      add(static_cast<int>(hosts_.size()) - 1, -1, false);
    }
  }

  [[nodiscard]] const Host& host_of(int agent) const {
    return hosts_[static_cast<std::size_t>(record(agent).host)];
  }
  /// Returns the number of its host among all hosts: nodes of the first placement, then spares.
  [[nodiscard]] int host_number(int agent) const { return record(agent).host; }
  /// Returns the node that an agent fills, or filled until it was gone; -1: none.
  [[nodiscard]] int node_of(int agent) const { return record(agent).node; }
  /// Returns the agent of each node; -1: none.
  [[nodiscard]] const std::vector<int>& by_node() const { return by_node_; }
  /// Returns the agents that fill a node, in the order of nodes.
  [[nodiscard]] std::vector<int> seated_agents() const {
    std::vector<int> agents = by_node_;
    std::erase(agents, -1);
    return agents;
  }
  /// Returns the agent that fills a node; -1: none.
  [[nodiscard]] int agent_of(int node) const { return by_node_[static_cast<std::size_t>(node)]; }

  /// Adds an agent for the host of a lost one.
  int add_again(int lost_agent) { return add(record(lost_agent).host, -1, true); }
  /// Adds a host. Its number is the highest so far.
  int add_host(Host host) {
    hosts_.push_back(std::move(host));
    return static_cast<int>(hosts_.size()) - 1;
  }
  /// Adds the first agent of an added host. `again`: as of the host of a lost agent.
  int add_agent(int host, bool again) { return add(host, -1, again); }
  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }

  // For jobs whose number of nodes changes.
  /// Lets these agents fill the nodes, in the order of nodes. Other agents that had one wait.
  void seat(const std::vector<int>& agents) {
    for (const int agent : std::exchange(by_node_, {}))
      if (agent >= 0) {
        record(agent).node = -1;
        set_wait(agent, Wait::waiting);
      }
    for (const int agent : agents) {
      set_wait(agent, Wait::no);
      record(agent).node = static_cast<int>(by_node_.size());
      by_node_.push_back(agent);
    }
    seated_ = static_cast<int>(agents.size());
  }
  /// Takes an agent off its node for good.
  void leave(int agent) {
    remove(agent);
    record(agent).node = -1;
  }
  /// Returns how many nodes have an agent.
  [[nodiscard]] int seated() const { return seated_; }
  /// Returns how many agents wait for a node.
  [[nodiscard]] int waiting() const { return static_cast<int>(waiting_.size()); }
  /// Returns these agents: hosts that were never lost before the others, then by number.
  [[nodiscard]] std::vector<int> waiting_agents() const {
    std::vector<int> agents;
    for (const auto& [slots, again, agent] : waiting_) agents.push_back(agent);
    std::ranges::sort(agents, {}, [this](int agent) {
      return std::pair(record(agent).again, record(agent).again ? agent : record(agent).host);
    });
    return agents;
  }
  /// Lets an agent without a node fill one from now on.
  void waits(int agent) { set_wait(agent, Wait::waiting); }
  /// Removes an agent that is gone. No agent fills its node, if it had one.
  void remove(int agent) {
    set_wait(agent, Wait::no);
    const int node = record(agent).node;
    const bool seated = node >= 0 && std::cmp_less(node, by_node_.size());
    if (!seated || agent_of(node) != agent) return;
    by_node_[static_cast<std::size_t>(node)] = -1;
    --seated_;
  }

  /// Records that the node needs another agent, on a host with this many slots. `host`: the number
  /// of the host that was lost.
  void vacate(BadNode why, int slots, int host) {
    DS_ASSERT(agent_of(why.node) < 0);
    vacant_of_host_[host] = {-slots, why.node};
    vacant_[{-slots, why.node}] = {std::move(why), host};
  }
  [[nodiscard]] bool has_vacancies() const { return !vacant_.empty(); }
  [[nodiscard]] int vacancies() const { return static_cast<int>(vacant_.size()); }
  /// Returns the vacant nodes, in the order of nodes.
  [[nodiscard]] std::vector<BadNode> bad_nodes() const {
    std::vector<BadNode> bad;
    for (const auto& [key, vacancy] : vacant_) bad.push_back(vacancy.why);
    std::ranges::sort(bad, {}, &BadNode::node);
    return bad;
  }
  /// Lets one waiting agent fill one vacant node, and returns why that was vacant. Takes the first
  /// spare whose host has enough slots; the node that needs most slots comes first. A lost host
  /// that answers again gets its own node back if that is vacant.
  std::optional<BadNode> fill_one() {
    for (auto first = vacant_.begin(); first != vacant_.end();
         first = vacant_.lower_bound({first->first.first + 1, 0})) {
      std::optional<int> agent = stand_in(-first->first.first);
      if (!agent) continue;
      if (record(*agent).again) {
        const auto own = waiting_again_.find(first->second.host);
        const auto own_node = vacant_of_host_.find(record(*agent).host);
        if (own != waiting_again_.end())
          agent = own->second;
        else if (own_node != vacant_of_host_.end())
          first = vacant_.find(own_node->second);
      }
      set_wait(*agent, Wait::no);
      Vacancy filled = std::move(vacant_.extract(first).mapped());
      vacant_of_host_.erase(filled.host);
      record(*agent).node = filled.why.node;
      by_node_[static_cast<std::size_t>(filled.why.node)] = *agent;
      ++seated_;
      return std::move(filled.why);
    }
    return std::nullopt;
  }
  /// Returns whether for every vacant node an agent is coming that could fill it.
  [[nodiscard]] bool help_is_coming() const {
    return vacant_.empty() ||
           (!coming_.empty() && *coming_.rbegin() >= -vacant_.begin()->first.first);
  }

 private:
  enum class Wait { no, coming, waiting };
  struct Vacancy {
    BadNode why{};
    int host = 0;  // that was lost
  };
  struct Record {
    int host = 0;
    int node = -1;
    bool again = false;
    Wait wait = Wait::no;
  };
  Record& record(int agent) { return records_[static_cast<std::size_t>(agent)]; }
  [[nodiscard]] const Record& record(int agent) const {
    return records_[static_cast<std::size_t>(agent)];
  }
  /// Returns the number of the new agent.
  int add(int host, int node, bool again) {
    const int agent = static_cast<int>(records_.size());
    records_.push_back({.host = host, .node = node, .again = again});
    if (node < 0) set_wait(agent, Wait::coming);
    return agent;
  }
  /// Changes whether an agent waits, and keeps the lists by slots.
  void set_wait(int agent, Wait wait) {
    Record& record = this->record(agent);
    const int slots = host_of(agent).slots;
    if (record.wait == Wait::coming) coming_.erase(coming_.find(slots));
    if (record.wait == Wait::waiting) {
      waiting_.erase({slots, record.again, agent});
      waiting_again_.erase(record.host);
    }
    record.wait = wait;
    if (wait == Wait::coming) coming_.insert(slots);
    if (wait != Wait::waiting) return;
    waiting_.insert({slots, record.again, agent});
    if (record.again) waiting_again_[record.host] = agent;
  }
  [[nodiscard]] std::optional<int> stand_in(int slots) const {
    std::optional<std::pair<bool, int>> best;
    for (auto first = waiting_.lower_bound({slots, false, 0}); first != waiting_.end();
         first = waiting_.lower_bound({std::get<0>(*first) + 1, false, 0})) {
      const auto [has, again, agent] = *first;
      if (!best || std::pair(again, agent) < *best) best = {again, agent};
    }
    return best ? std::optional(best->second) : std::nullopt;
  }

  std::vector<Host> hosts_;
  std::vector<Record> records_;
  std::vector<int> by_node_;
  int seated_ = 0;
  std::set<std::tuple<int, bool, int>> waiting_;       // slots of the host, dialed again?, agent
  std::multiset<int> coming_;                          // slots of their hosts
  std::map<int, int> waiting_again_;                   // by host: the agent that was dialed again
  std::map<std::pair<int, int>, Vacancy> vacant_;      // by slots needed, negative, then node
  std::map<int, std::pair<int, int>> vacant_of_host_;  // by lost host: the key in vacant_
};

/// Returns the placement with another host for one node; ranks keep their numbers.
inline Placement with_host(Placement last, int node, const Host& host) {
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
