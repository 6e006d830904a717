// Which agent fills which node: one agent a host, spares that wait, lost hosts that are dialled
// again. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {

struct AgentRecord {
  enum class Stage {
    opening,    // dialled, not heard yet
    sweeping,   // dialled again: kills what its predecessor left
    idle,       // has no Spec, or has cleared up after it
    preparing,  // has a Spec, its ranks are not ready
    ready,      // its ranks wait for Go, or run
    leaving,    // was told to end
    gone
  };
  int host = 0;
  int node = -1;  // the place it fills; -1: none
  Stage stage = Stage::opening;
  bool again = false;  // dialled after its host was lost
  Clock::time_point last_heard{};
};

/// Agents and hosts of one job.
/// Promise: a host that was lost fills a node again only if no other spare can.
class Roster {
 public:
  Roster(const Placement& placement, const std::vector<Host>& spares);

  [[nodiscard]] int size() const { return static_cast<int>(agents_.size()); }
  AgentRecord& operator[](int agent);
  const AgentRecord& operator[](int agent) const;
  [[nodiscard]] const Host& host_of(int agent) const;
  /// The agent that fills a node; -1: its place is vacant.
  [[nodiscard]] int agent_of(int node) const { return by_node_[static_cast<std::size_t>(node)]; }

  /// Another agent for the host of a lost one.
  int dial_again(int lost_agent);
  /// The agent is gone: its place, if it has one, is vacant.
  void remove(int agent);
  /// A waiting agent without a place, whose host has enough slots: spares first, in their order.
  [[nodiscard]] std::optional<int> stand_in(int slots) const;
  /// How many agents without a place may still become one.
  [[nodiscard]] int coming(int slots) const;
  void fill(int node, int agent);

 private:
  std::vector<Host> hosts_;
  std::vector<AgentRecord> agents_;
  std::vector<int> by_node_;
};

/// The placement with another host in one place; ranks keep their numbers.
Placement with_host(Placement last, int node, const Host& host);

}  // namespace ds::launcher
