// Translates clock readings of nodes into times on the launcher's machine. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Estimates the offset of a node's steady clock from ours by round trips. Wall clocks of nodes are
/// never read, so a wrong one does no harm. A sample is off by at most half its round trip; the
/// best sample counts until drift has made a newer one better.
class NodeClock {
 public:
  /// An upper bound of a quartz clock's drift.
  static constexpr double kDrift = 100e-6;

  /// A Hello arrived at `now`; the estimate is off by its unknown travel time.
  void greeted(std::uint64_t agent_clock, Clock::time_point now);
  /// A Heartbeat of the agent arrived at `now`.
  void heard(const Heartbeat& beat, Clock::time_point now);

  /// Returns our time of an agent's reading. Promise: never after `now`, never before an earlier
  /// answer.
  Clock::time_point here(std::uint64_t agent_time, Clock::time_point now);
  /// Returns our time of one reading with its error bound; nothing before the first sample.
  struct Reading {
    Clock::time_point at{};
    std::chrono::nanoseconds error{};  // without drift
  };
  [[nodiscard]] std::optional<Reading> reading(std::uint64_t agent_time) const;

 private:
  struct Sample {
    std::int64_t offset = 0;  // agent's minus ours, ns
    std::int64_t error = 0;
    Clock::time_point at{};
  };
  void take(const Sample& sample);
  std::optional<Sample> best_;
  Clock::time_point last_answer_{};
};

/// The clocks of all agents.
class NodeClocks {
 public:
  NodeClock& of(int agent) {
    const auto index = static_cast<std::size_t>(agent);
    if (index >= clocks_.size()) clocks_.resize(index + 1);
    return clocks_[index];
  }

 private:
  std::vector<NodeClock> clocks_;
};

}  // namespace ds::launcher
