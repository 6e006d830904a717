// Maps agents to nodes: one agent per host, waiting spares, lost hosts that were dialed again,
// and vacant nodes. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

/// Agents are numbered as in Fleet: those of the placement by node rank, then the spares, then
/// those that were added.
/// Promise: a host that was lost fills a node again only if no other spare can.
/// Cost:    O(log agents), times the different numbers of slots that hosts have.
class Roster {
 public:
  Roster(const Placement& placement, const std::vector<Host>& spares);

  [[nodiscard]] const Host& host_of(int agent) const {
    return hosts_[static_cast<std::size_t>(record(agent).host)];
  }
  /// Returns the number of its host among all hosts: nodes of the first placement, then spares.
  [[nodiscard]] int host_number(int agent) const { return record(agent).host; }
  /// Returns the node that an agent fills, or filled until it was gone; -1: none.
  [[nodiscard]] int node_of(int agent) const { return record(agent).node; }
  /// Returns the agent that fills a node; -1: none.
  [[nodiscard]] int agent_of(int node) const { return by_node_[static_cast<std::size_t>(node)]; }

  /// Adds an agent for the host of a lost one.
  int add_again(int lost_agent) { return add(record(lost_agent).host, -1, true); }
  /// Lets an agent without a node fill one from now on.
  void waits(int agent) { set_wait(agent, Wait::waiting); }
  /// Removes an agent that is gone. No agent fills its node, if it had one.
  void remove(int agent);

  /// Records that the node needs another agent, on a host with this many slots.
  void vacate(BadNode why, int slots);
  [[nodiscard]] bool has_vacancies() const { return !vacant_.empty(); }
  [[nodiscard]] int vacancies() const { return static_cast<int>(vacant_.size()); }
  /// Returns the vacant nodes, in the order of nodes.
  [[nodiscard]] std::vector<BadNode> bad_nodes() const;
  /// Lets one waiting agent fill one vacant node, and returns why that was vacant. Takes the first
  /// spare whose host has enough slots; the node that needs most slots comes first.
  std::optional<BadNode> fill_one();
  /// Returns whether for every vacant node an agent is coming that could fill it.
  [[nodiscard]] bool help_is_coming() const;

 private:
  enum class Wait { no, coming, waiting };
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
  int add(int host, int node, bool again);
  void set_wait(int agent, Wait wait);
  [[nodiscard]] std::optional<int> stand_in(int slots) const;

  std::vector<Host> hosts_;
  std::vector<Record> records_;
  std::vector<int> by_node_;
  std::set<std::tuple<int, bool, int>> waiting_;   // slots of the host, dialed again?, agent
  std::multiset<int> coming_;                      // slots of their hosts
  std::map<std::pair<int, int>, BadNode> vacant_;  // by slots needed, negative, then node
};

/// Returns the placement with another host for one node; ranks keep their numbers.
Placement with_host(Placement last, int node, const Host& host);

}  // namespace ds::launcher
