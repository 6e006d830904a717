// Times of the hang guard, and the longest pause of its thread that is not taken for a suspension
// of the process.
#pragma once

#include <algorithm>

#include "engine/base/deadline.h"

namespace ds::comm {

/// Returns how often a rank reports. `patience`: as in find_hangs().
inline Clock::duration beat_of(Clock::duration patience) {
  using namespace std::chrono_literals;
  return std::clamp<Clock::duration>(patience / 10, 20ms, 1s);
}

/// Returns the shortest time without running that was a suspension: a busy machine delays a thread
/// by less.
inline Clock::duration suspension_of(Clock::duration patience) {
  return std::min<Clock::duration>(std::chrono::seconds(5), patience / 2);
}

}  // namespace ds::comm
