// StartPhases: which phases of its start every rank of an epoch has begun, and when the last rank
// began each. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher {

class StartPhases {
 public:
  /// Phases of other names are ignored, once there are so many.
  static constexpr std::size_t kMaxPhases = 16;

  /// Starts an epoch with so many ranks.
  void begin(int ranks) {
    phases_.clear();
    ranks_ = static_cast<std::size_t>(ranks);
  }
  /// Rank `rank` has begun a phase. A second time counts as the first. Returns true if it is the
  /// last rank to begin it.
  bool take(int rank, std::string_view name, Clock::time_point at) {
    const auto index = static_cast<std::size_t>(rank);
    if (rank < 0 || index >= ranks_) return false;
    auto phase = std::ranges::find(phases_, name, &Phase::name);
    if (phase == phases_.end()) {
      if (phases_.size() == kMaxPhases) return false;
      phases_.push_back({std::string(name), std::vector<bool>(ranks_), 0, at});
      phase = phases_.end() - 1;
    }
    if (phase->seen[index]) return false;
    phase->seen[index] = true;
    phase->last = std::max(phase->last, at);
    return ++phase->ranks == ranks_;
  }

  /// Returns when the last rank began the phase. Nothing: a rank has not begun it.
  [[nodiscard]] std::optional<Clock::time_point> reached(std::string_view name) const {
    const auto phase = std::ranges::find(phases_, name, &Phase::name);
    const bool by_all = phase != phases_.end() && phase->ranks == ranks_;
    return by_all ? std::optional(phase->last) : std::nullopt;
  }
  /// Returns the latest phase that all ranks have begun; empty: none.
  [[nodiscard]] std::string newest() const {
    const Phase* newest = nullptr;
    for (const Phase& phase : phases_)
      if (phase.ranks == ranks_ && (newest == nullptr || phase.last >= newest->last))
        newest = &phase;
    return newest == nullptr ? std::string() : newest->name;
  }

 private:
  struct Phase {
    std::string name;
    std::vector<bool> seen;  // by rank
    std::size_t ranks = 0;   // that have begun it
    Clock::time_point last;
  };
  std::size_t ranks_ = 0;
  std::vector<Phase> phases_;
};

}  // namespace ds::launcher
