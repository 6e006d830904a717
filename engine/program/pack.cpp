// pack(): best fit in several orders.
#include "engine/program/pack.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace ds {
namespace {

constexpr std::int64_t kSmallAlignment = 512, kPageAligned = 64 << 10;

constexpr int kShortestSpan = 64;  // ops

int last_op(const std::vector<Block>& blocks) {
  int last = 0;
  for (const Block& block : blocks) last = std::max(last, block.life.last);
  return last;
}

/// Returns for each op the sum of `weight` over the blocks alive at it.
template <class Weight>
std::vector<std::int64_t> sums_by_op(const std::vector<Block>& blocks, Weight weight) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(last_op(blocks)) + 2, 0);
  for (const Block& block : blocks) {
    sums[static_cast<std::size_t>(block.life.first)] += weight(block);
    sums[static_cast<std::size_t>(block.life.last) + 1] -= weight(block);
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  return sums;
}

/// Returns the most bytes alive at one op, which no packing can undercut.
std::int64_t most_alive(const std::vector<Block>& blocks) {
  const std::vector<std::int64_t> bytes =
      sums_by_op(blocks, [](const Block& block) { return block.bytes; });
  return *std::max_element(bytes.begin(), bytes.end());
}

/// Returns ops that few blocks outlive, for instance between micro-batches: spans of time begin
/// there. Blocks that live for a quarter of the step or more do not count.
std::vector<int> span_starts(const std::vector<Block>& blocks) {
  const int much = last_op(blocks) / 4;
  const std::vector<std::int64_t> alive = sums_by_op(blocks, [&](const Block& block) {
    return block.life.last - block.life.first < much ? 1 : 0;
  });
  const std::int64_t mean =
      std::accumulate(alive.begin(), alive.end(), std::int64_t{0}) / std::ssize(alive);
  std::vector<int> starts{0};
  for (int op = 1; op < static_cast<int>(alive.size()); ++op) {
    const bool few = alive[static_cast<std::size_t>(op)] < mean / 4;
    if (few && op - starts.back() >= kShortestSpan) starts.push_back(op);
  }
  return starts;
}

bool by_offset(const Block& a, const Block& b) { return a.offset < b.offset; }

/// The placed blocks, by span of time. Most blocks live within one span, so a block is compared
/// with few others. Every list is sorted by offset.
class Placed {
 public:
  explicit Placed(std::vector<int> starts) : starts_(std::move(starts)), spans_(starts_.size()) {}

  void insert(const Block& block) {
    const auto [first, last] = spans_of(block.life);
    std::vector<Block>& list = first == last ? spans_[first] : long_;
    list.insert(std::upper_bound(list.begin(), list.end(), block, by_offset), block);
  }

  /// Calls see(other) for the blocks alive together with `block`, sorted by offset.
  template <class See>
  void each_meeting(const Block& block, See see) {
    const auto [first, last] = spans_of(block.life);
    if (first == last) return merge(spans_[first], block.life, see);
    found_.clear();
    for (std::size_t span = first; span <= last; ++span) {
      for (const Block& other : spans_[span])
        if (other.life.meets(block.life)) found_.push_back(other);
    }
    std::sort(found_.begin(), found_.end(), by_offset);
    merge(found_, block.life, see);
  }

  /// Returns all blocks, sorted by offset.
  std::vector<Block> take() {
    for (const std::vector<Block>& span : spans_)
      long_.insert(long_.end(), span.begin(), span.end());
    std::stable_sort(long_.begin(), long_.end(), by_offset);
    return std::move(long_);
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> spans_of(const Life& life) const {
    const auto span = [&](int op) {
      const auto after = std::upper_bound(starts_.begin(), starts_.end(), op);
      return static_cast<std::size_t>(after - starts_.begin()) - 1;
    };
    return {span(life.first), span(life.last)};
  }

  template <class See>
  void merge(const std::vector<Block>& list, const Life& life, See see) {
    auto other = long_.begin();
    const auto see_long_before = [&](std::int64_t offset) {
      for (; other != long_.end() && other->offset <= offset; ++other)
        if (other->life.meets(life)) see(*other);
    };
    for (const Block& block : list) {
      if (!block.life.meets(life)) continue;
      see_long_before(block.offset);
      see(block);
    }
    see_long_before(std::numeric_limits<std::int64_t>::max());
  }

  std::vector<int> starts_;
  std::vector<std::vector<Block>> spans_;
  std::vector<Block> long_;   // alive in several spans
  std::vector<Block> found_;  // scratch of each_meeting()
};

/// Returns the smallest sufficient hole among blocks alive at the same time, else their end.
std::int64_t best_fit(Placed& placed, const Block& block) {
  std::int64_t cursor = 0, best_hole = 0;
  std::optional<std::int64_t> best;
  placed.each_meeting(block, [&](const Block& other) {
    const std::int64_t hole = other.offset - cursor;
    if (hole >= block.bytes && (!best || hole < best_hole)) {
      best = cursor;
      best_hole = hole;
    }
    cursor = std::max(cursor, round_up(other.end(), block.alignment));
  });
  return best.value_or(cursor);
}

/// Order of placement: earlier blocks find more room.
using Before = bool (*)(const Block&, const Block&);
bool larger(const Block& a, const Block& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.life.first < b.life.first;
}
bool longer(const Block& a, const Block& b) {
  const int length_a = a.life.last - a.life.first, length_b = b.life.last - b.life.first;
  return length_a != length_b ? length_a > length_b : larger(a, b);
}
bool later(const Block& a, const Block& b) {
  return a.life.last != b.life.last ? a.life.last > b.life.last : larger(a, b);
}
bool larger_in_time(const Block& a, const Block& b) {
  const std::int64_t area_a = a.bytes * (a.life.last - a.life.first + 1);
  const std::int64_t area_b = b.bytes * (b.life.last - b.life.first + 1);
  return area_a != area_b ? area_a > area_b : larger(a, b);
}

/// Returns the blocks sorted by offset.
std::vector<Block> place_in_order(std::vector<Block> blocks, Before before,
                                  const std::vector<int>& starts) {
  std::stable_sort(blocks.begin(), blocks.end(), before);
  Placed placed(starts);
  for (Block& block : blocks) {
    block.offset = best_fit(placed, block);
    placed.insert(block);
  }
  return placed.take();
}

}  // namespace

std::int64_t alignment_for(std::int64_t bytes, Tier tier) {
  return bytes >= kPageAligned || tier != Tier::device ? kPage : kSmallAlignment;
}

std::int64_t end_of(const std::vector<Block>& placed) {
  std::int64_t end = 0;
  for (const Block& block : placed) end = std::max(end, block.end());
  return end;
}

std::vector<Block> pack(const std::vector<Block>& blocks) {
  if (blocks.empty()) return {};
  const std::vector<int> starts = span_starts(blocks);
  const std::int64_t shortest = most_alive(blocks);
  std::vector<Block> best;
  for (const Before before : {larger, longer, later, larger_in_time}) {
    std::vector<Block> placed = place_in_order(blocks, before, starts);
    if (best.empty() || end_of(placed) < end_of(best)) best = std::move(placed);
    if (end_of(best) == shortest) break;
  }
  return best;
}

}  // namespace ds
