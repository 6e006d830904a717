#include "launcher/logs/node_clock.h"

#include <algorithm>

namespace ds::launcher {
namespace {

using std::chrono::nanoseconds;

// The travel time of a Hello is unknown, so any real round trip is better.
constexpr std::int64_t kOneWayError = std::int64_t{60} * 1'000'000'000;

/// Subtracts without overflow: readings come from another machine and may be any number.
std::int64_t minus(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

}  // namespace

void NodeClock::greeted(std::uint64_t agent_clock, Clock::time_point now) {
  take({minus(agent_clock, clock_value(now)), kOneWayError, now});
}

void NodeClock::heard(const Heartbeat& beat, Clock::time_point now) {
  if (beat.heard == 0) return;
  const std::int64_t round_trip = minus(clock_value(now) - beat.heard, beat.held);
  if (round_trip < 0) return;  // the agent sent invalid times
  const std::uint64_t arrived_there = beat.sent - beat.held;
  const std::uint64_t arrived_here = beat.heard + static_cast<std::uint64_t>(round_trip) / 2;
  take({minus(arrived_there, arrived_here), round_trip / 2, now});
}

void NodeClock::take(const Sample& sample) {
  if (best_) {
    const auto age = static_cast<double>(nanoseconds(sample.at - best_->at).count());
    if (static_cast<double>(sample.error) > static_cast<double>(best_->error) + age * kDrift)
      return;
  }
  best_ = sample;
}

std::optional<NodeClock::Reading> NodeClock::reading(std::uint64_t agent_time) const {
  if (!best_) return std::nullopt;
  const nanoseconds since_epoch(minus(agent_time, static_cast<std::uint64_t>(best_->offset)));
  return Reading{Clock::time_point(std::chrono::duration_cast<Clock::duration>(since_epoch)),
                 nanoseconds(best_->error)};
}

Clock::time_point NodeClock::here(std::uint64_t agent_time, Clock::time_point now) {
  const std::optional<Reading> known = reading(agent_time);
  last_answer_ = std::max(last_answer_, known ? std::min(now, known->at) : now);
  return last_answer_;
}

}  // namespace ds::launcher
