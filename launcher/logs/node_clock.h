// What time a node's clock readings are on the launcher's machine. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Estimates from round trips how far the steady clock of a node is from ours; no wall clock of a
/// node is ever asked, so none can be wrong. A sample is off by at most half its round trip; the
/// best one counts until its age (clocks drift) makes a newer one better.
class NodeClock {
 public:
  /// Drift of a quartz, with room.
  static constexpr double kDrift = 100e-6;

  /// The Hello came at `now`: off by its way here.
  void greeted(std::uint64_t agent_clock, Clock::time_point now);
  /// A Heartbeat of the agent came at `now`.
  void heard(const Heartbeat& beat, Clock::time_point now);

  /// Our time of an agent's reading. Promise: never after `now`, never before an earlier answer.
  Clock::time_point here(std::uint64_t agent_time, Clock::time_point now);
  /// The same for one reading alone, as exact as is known; nothing before anything was heard.
  struct Reading {
    Clock::time_point at{};
    std::chrono::nanoseconds error{};  // but for drift
  };
  [[nodiscard]] std::optional<Reading> reading(std::uint64_t agent_time) const;
  /// Bound of the error, but for drift; nothing before anything was heard.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> error() const;

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

}  // namespace ds::launcher
