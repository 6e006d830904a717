// Countdown: a deadline that counts only time in which this process ran. A job that Ctrl-Z
// suspended for an hour goes on after fg instead of finding every deadline passed.
#pragma once

#include <algorithm>
#include <chrono>

#include "engine/base/deadline.h"

namespace ds::comm {

class Countdown {
 public:
  Countdown(Deadline deadline, Clock::time_point now) : due_(deadline.at()), looked_(now) {}

  /// Returns whether the deadline has passed. A gap between two calls that is longer than any wait
  /// of for_poll(), plus 2 s by which a busy machine may delay a thread, was a suspension.
  bool passed(Clock::time_point now) {
    const auto gap = now - looked_;
    looked_ = now;
    if (gap > kLook + std::chrono::seconds(2)) due_ += gap;
    return now >= due_;
  }
  /// Returns how long to wait at most before the next call of passed(), in milliseconds.
  [[nodiscard]] int for_poll(Clock::time_point now) const {
    const Clock::duration left = std::clamp<Clock::duration>(due_ - now, {}, kLook);
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

 private:
  static constexpr Clock::duration kLook = std::chrono::seconds(1);
  Clock::time_point due_, looked_;
};

}  // namespace ds::comm
