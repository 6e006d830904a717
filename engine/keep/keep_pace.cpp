// Compares steps beside a keep with those without one.
#include "engine/keep/keep_pace.h"

#include <algorithm>

namespace ds {

double KeepPace::median() const {
  std::array<double, kSteps> sorted = quiet_;
  const std::size_t size = std::min(count_, kSteps);
  auto* const middle = sorted.begin() + size / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + size);
  return *middle;
}

void KeepPace::step(double seconds, bool keeping) {
  if (keeping) {
    extra_ += count_ >= kEnough ? seconds - median() : seconds;
    return;
  }
  quiet_[count_ % kSteps] = seconds;
  ++count_;
}

// The newest keep counts half, so that one slow step of the machine does not stop keeping for long.
void KeepPace::kept(double seconds, double stall) {
  const double cost = std::clamp(extra_, std::min(stall, seconds), seconds);
  cost_ = is_first_ ? cost : (cost_ + cost) / 2;
  is_first_ = false;
  extra_ = 0;
}

}  // namespace ds
