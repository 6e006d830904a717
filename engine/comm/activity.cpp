// Activity: records which op this process runs.
#include "engine/comm/activity.h"

#include <algorithm>
#include <utility>

namespace ds {

void Activity::begin(std::string_view what) {
  {
    const std::lock_guard lock(mutex_);
    length_ = std::min(what.size(), kLongest);
    std::copy_n(what.begin(), length_, what_.begin());
  }
  tick();
}

void Activity::follow(std::function<std::uint64_t()> source) {
  const std::lock_guard lock(mutex_);
  source_ = std::move(source);
}

std::uint64_t Activity::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_.load(std::memory_order_relaxed) + (source_ ? source_() : 0);
}

std::string Activity::doing() const {
  const std::lock_guard lock(mutex_);
  return {what_.data(), length_};
}

}  // namespace ds
