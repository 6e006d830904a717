// Activity: records which op this process runs.
#include "engine/comm/activity.h"

#include <algorithm>

namespace ds {

void Activity::begin(std::string_view what) {
  {
    const std::lock_guard lock(mutex_);
    length_ = std::min(what.size(), kLongest);
    std::copy_n(what.begin(), length_, what_.begin());
  }
  tick();
}

std::string Activity::doing() const {
  const std::lock_guard lock(mutex_);
  return {what_.data(), length_};
}

}  // namespace ds
