// Deadline: a time point on the steady clock. Every wait receives one and waits for the time left.
#pragma once

#include <algorithm>
#include <chrono>

namespace ds {

using Clock = std::chrono::steady_clock;

/// Returns a time in seconds.
inline double seconds_of(Clock::duration span) {
  return std::chrono::duration<double>(span).count();
}

class Deadline {
 public:
  static Deadline after(Clock::duration span) { return Deadline(Clock::now() + span); }
  explicit Deadline(Clock::time_point at) : at_(at) {}

  [[nodiscard]] Clock::time_point at() const { return at_; }
  [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
  /// Returns the time left: never negative, and rounded up so that a poll with it does not spin.
  [[nodiscard]] std::chrono::milliseconds remaining() const {
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()),
                    std::chrono::milliseconds(0));
  }

 private:
  Clock::time_point at_;
};

}  // namespace ds
