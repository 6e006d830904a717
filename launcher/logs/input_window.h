// Limits how much standard input may be in transit to ranks. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// The slowest of the agents that receive input sets the pace.
class InputWindow {
 public:
  /// Starts with these agents and nothing in transit.
  template <class Agents>
  void start(const Agents& agents) {
    under_way_.clear();
    for (const int agent : agents) under_way_[agent] = 0;
  }
  void sent(std::uint64_t bytes) {
    for (auto& [agent, waiting] : under_way_) waiting += bytes;
  }
  /// The ranks of an agent have read this many bytes.
  void taken(int agent, std::uint64_t bytes) {
    const auto known = under_way_.find(agent);
    if (known != under_way_.end()) known->second -= std::min(known->second, bytes);
  }
  /// Returns how many bytes may be sent now; 0 without any agent.
  [[nodiscard]] std::uint64_t room() const {
    if (under_way_.empty()) return 0;
    std::uint64_t most = 0;
    for (const auto& [agent, waiting] : under_way_) most = std::max(most, waiting);
    return Stdin::kWindow - std::min(most, Stdin::kWindow);
  }

 private:
  std::map<int, std::uint64_t> under_way_;  // by agent
};

}  // namespace ds::launcher
