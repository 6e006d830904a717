// HeldStates: states that are still being copied while the next step runs. Ops that would write
// them wait.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/device/device.h"

namespace ds {

/// Bytes [begin, end) of a tier's memory.
struct HeldRange {
  Tier tier = Tier::device;
  std::int64_t begin = 0, end = 0;
};

/// Threads: only the one that issues ops.
class HeldStates {
 public:
  explicit HeldStates(Device& device) : copied_(device.make_event()) {}

  /// Holds the ranges until what was submitted to `copier` is done.
  void hold(std::vector<HeldRange> ranges, Stream& copier);
  /// Returns whether anything is held; false at the latest after a wait for it has ended.
  [[nodiscard]] bool is_any();
  [[nodiscard]] bool covers(Tier tier, std::int64_t begin, std::int64_t end) const;
  /// Makes what is submitted to `stream` from now on wait until nothing is held.
  void make_wait(Stream& stream);
  /// When the first stream had to wait since hold(); time_point::max() if none had.
  [[nodiscard]] Clock::time_point first_wait() const { return first_wait_; }

 private:
  std::vector<HeldRange> ranges_;  // sorted by tier and begin; disjoint
  std::unique_ptr<Event> copied_;
  bool held_ = false;
  Clock::time_point first_wait_ = Clock::time_point::max();
};

}  // namespace ds
