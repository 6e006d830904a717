// ClockOffset: how the clock of a rank differs from rank 0's, and how well that is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/base/deadline.h"
#include "engine/comm/collectives.h"

namespace ds {

/// Nanoseconds to add to a time of this rank's clock for rank 0's at one moment. The true offset
/// differs by `error` at most.
struct ClockOffset {
  std::int64_t offset = 0, error = 0;
  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

/// What messages to rank 0 and back say of the offset. Rank 0 read its clock after this rank sent a
/// message and before it received the answer, so each exchange bounds the offset from both sides,
/// however long the messages took. (NTP, RFC 5905, assumes besides that both ways take equally
/// long.)
class OffsetBounds {
 public:
  /// Adds an exchange: `sent` and `received` by this rank's clock, `answered` by rank 0's, in ns.
  void add(std::int64_t sent, std::int64_t answered, std::int64_t received) {
    least_ = std::max(least_, answered - received);
    most_ = std::min(most_, answered - sent);
  }
  /// Returns the middle of the bounds. At least one exchange was added.
  [[nodiscard]] ClockOffset middle() const {
    const std::int64_t error = (most_ - least_ + 1) / 2;
    return {.offset = least_ + error, .error = error};
  }
  /// Returns whether the clocks may be the same.
  [[nodiscard]] bool allows_zero() const { return least_ <= 0 && most_ >= 0; }

 private:
  std::int64_t least_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
};

/// Measures the offset of this rank. It is exactly 0 for ranks on the machine of rank 0, whose
/// monotonic clock they share. Collective. Errors: Error{comm}.
ClockOffset measure_clock_offset(Group& world, Deadline deadline);

/// Returns nanoseconds of this machine's monotonic clock.
inline std::int64_t nanoseconds_of(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace ds
