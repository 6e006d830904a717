// WeightedOrder: the source whose deadline comes first, of those that are due.
#include "engine/data/weighted_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/base/error.h"

namespace ds {

WeightedOrder::WeightedOrder(std::span<const double> weights)
    : shares_(weights.begin(), weights.end()), counts_(weights.size()) {
  DS_ASSERT(!weights.empty());
  const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  for (double& share : shares_) share /= sum;
}

WeightedOrder::Turn WeightedOrder::at(std::int64_t sample) {
  DS_ASSERT(sample >= 0);
  if (sample < next_) {
    std::ranges::fill(counts_, 0);
    next_ = 0;
  }
  while (next_ < sample) take();
  return take();
}

WeightedOrder::Turn WeightedOrder::take() {
  ++next_;
  if (shares_.size() == 1) return {0, counts_[0]++};
  const double slack = 1.0 / (2.0 * static_cast<double>(shares_.size()) - 2.0);
  std::size_t chosen = 0;
  double earliest = std::numeric_limits<double>::infinity(), most = -earliest;
  bool is_due = false;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double owed = shares_[i] * static_cast<double>(next_) - static_cast<double>(counts_[i]);
    const double deadline = (1 - slack - owed) / shares_[i];
    if (owed >= slack && deadline < earliest) {
      earliest = deadline;
      chosen = i;
      is_due = true;
    } else if (!is_due && owed > most) {  // none is due through rounding alone
      most = owed;
      chosen = i;
    }
  }
  return {chosen, counts_[chosen]++};
}

}  // namespace ds
