// States that are still being copied while the next step runs: who would write them waits.
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

/// One thread, the one that issues ops, calls all of it.
class HeldStates {
 public:
  explicit HeldStates(Device& device) : copied_(device.make_event()) {}

  /// From now on, until what was submitted to `copier` is done.
  void hold(std::vector<HeldRange> ranges, Stream& copier);
  /// Whether anything is held; false at the latest once a wait for it has ended.
  [[nodiscard]] bool is_any();
  [[nodiscard]] bool covers(Tier tier, std::int64_t begin, std::int64_t end) const;
  /// What is submitted to `stream` from now on runs once nothing is held any more.
  void make_wait(Stream& stream);
  /// When the first stream was made to wait since hold(); time_point::max(): none was.
  [[nodiscard]] Clock::time_point first_wait() const { return first_wait_; }

 private:
  std::vector<HeldRange> ranges_;  // by tier and begin; none overlaps another
  std::unique_ptr<Event> copied_;
  bool held_ = false;
  Clock::time_point first_wait_ = Clock::time_point::max();
};

}  // namespace ds
