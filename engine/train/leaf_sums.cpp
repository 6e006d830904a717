// Each thread adds one range; exact sums may be added in any order.
#include "engine/train/leaf_sums.h"

#include <algorithm>
#include <mutex>
#include <numeric>

namespace ds {
namespace {

constexpr std::int64_t kWorthThreads = std::int64_t{1} << 18;  // leaves; 1.3 ms on one thread

}  // namespace

LeafSums::LeafSums(std::int64_t most, int threads) {
  if (most >= kWorthThreads && threads > 1) pool_ = std::make_unique<ThreadPool>(threads, nullptr);
}

template <class Work>
void LeafSums::in_parts(std::int64_t size, Work work) {
  if (!pool_) return work(0, size);
  const std::int64_t parts = pool_->size();
  pool_->parallel_for(parts, [&](std::int64_t part, int /*thread*/) {
    const std::int64_t first = size * part / parts;
    work(first, size * (part + 1) / parts - first);
  });
}

void LeafSums::add(std::span<const double> sums, ExactSum& to) {
  std::mutex one;
  in_parts(std::ssize(sums), [&](std::int64_t first, std::int64_t count) {
    ExactSum part;
    for (const double sum :
         sums.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)))
      part.add(sum);
    const std::scoped_lock lock(one);
    to.add(part);
  });
}

std::int64_t LeafSums::total(std::span<const std::int64_t> counts) {
  std::atomic<std::int64_t> all{0};
  in_parts(std::ssize(counts), [&](std::int64_t first, std::int64_t count) {
    const auto part =
        counts.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    all += std::accumulate(part.begin(), part.end(), std::int64_t{0});
  });
  return all;
}

}  // namespace ds
