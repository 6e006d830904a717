// HeldStates: sorted ranges and one event.
#include "engine/execute/held_states.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ds {

void HeldStates::hold(std::vector<HeldRange> ranges, Stream& copier) {
  ranges_ = std::move(ranges);
  std::ranges::sort(ranges_, {}, [](const HeldRange& r) { return std::tuple(r.tier, r.begin); });
  first_wait_ = Clock::time_point::max();
  copied_->record(copier);
  held_ = !ranges_.empty();
}

bool HeldStates::is_any() {
  if (held_ && copied_->has_passed()) held_ = false;
  return held_;
}

// Ranges do not overlap, so their ends are sorted too.
bool HeldStates::covers(Tier tier, std::int64_t begin, std::int64_t end) const {
  const auto after = [](const std::pair<Tier, std::int64_t>& at, const HeldRange& range) {
    return at < std::pair(range.tier, range.end);
  };
  const auto found =
      std::upper_bound(ranges_.begin(), ranges_.end(), std::pair(tier, begin), after);
  return found != ranges_.end() && found->tier == tier && found->begin < end;
}

void HeldStates::make_wait(Stream& stream) {
  first_wait_ = std::min(first_wait_, Clock::now());
  copied_->make_wait(stream);
}

}  // namespace ds
