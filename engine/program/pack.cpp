// pack(): best fit in several orders.
#include "engine/program/pack.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace ds {
namespace {

constexpr std::int64_t kSmallAlignment = 512, kPageAligned = 64 << 10;

constexpr int kChunk = 256;           // ops
constexpr int kMostChunks = 16;       // of a short life
constexpr std::size_t kBucket = 512;  // blocks

int last_op(const std::vector<Block>& blocks) {
  int last = 0;
  for (const Block& block : blocks) last = std::max(last, block.life.last);
  return last;
}

/// Returns the most bytes alive at one op, which no packing can undercut.
std::int64_t most_alive(const std::vector<Block>& blocks) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(last_op(blocks)) + 2, 0);
  for (const Block& block : blocks) {
    bytes[static_cast<std::size_t>(block.life.first)] += block.bytes;
    bytes[static_cast<std::size_t>(block.life.last) + 1] -= block.bytes;
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return *std::max_element(bytes.begin(), bytes.end());
}

bool by_offset(const Block& a, const Block& b) { return a.offset < b.offset; }

/// Blocks sorted by offset, in buckets, so that an insertion moves few of them.
class SortedBlocks {
 public:
  void insert(const Block& block) {
    auto bucket = std::upper_bound(buckets_.begin(), buckets_.end(), block,
                                   [](const Block& value, const std::vector<Block>& in) {
                                     return by_offset(value, in.back());
                                   });
    if (bucket == buckets_.end()) {
      if (buckets_.empty()) buckets_.emplace_back();
      bucket = buckets_.end() - 1;
    }
    bucket->insert(std::upper_bound(bucket->begin(), bucket->end(), block, by_offset), block);
    if (bucket->size() < 2 * kBucket) return;
    std::vector<Block> rest(bucket->begin() + kBucket, bucket->end());
    bucket->resize(kBucket);
    buckets_.insert(bucket + 1, std::move(rest));
  }

  template <class See>
  void each(See see) const {
    for (const std::vector<Block>& bucket : buckets_)
      for (const Block& block : bucket) see(block);
  }

 private:
  std::vector<std::vector<Block>> buckets_;  // none is empty
};

/// The placed blocks, by chunk of time. Most blocks live within few chunks, so a block is compared
/// with few others, and the time to pack grows with the blocks alive at once, not with all.
class Placed {
 public:
  explicit Placed(int last_op) : chunks_(static_cast<std::size_t>(last_op / kChunk) + 1) {}

  void insert(const Block& block) {
    const auto [first, last] = chunks_of(block.life);
    if (!is_short(block.life)) return insert_into(long_, block);
    short_.insert(block);
    for (std::size_t chunk = first; chunk <= last; ++chunk) insert_into(chunks_[chunk], block);
  }

  /// Calls see(other) for the blocks alive together with `block`, sorted by offset.
  template <class See>
  void each_meeting(const Block& block, See see) {
    const auto [first, last] = chunks_of(block.life);
    auto other = long_.begin();
    const auto see_long_before = [&](std::int64_t offset) {
      for (; other != long_.end() && other->offset <= offset; ++other)
        if (other->life.meets(block.life)) see(*other);
    };
    const auto see_short = [&](const Block& placed) {
      if (!placed.life.meets(block.life)) return;
      see_long_before(placed.offset);
      see(placed);
    };
    if (first == last) {
      std::for_each(chunks_[first].begin(), chunks_[first].end(), see_short);
    } else if (is_short(block.life)) {
      collect(first, last);
      std::for_each(found_.begin(), found_.end(), see_short);
    } else {
      short_.each(see_short);
    }
    see_long_before(std::numeric_limits<std::int64_t>::max());
  }

  /// Returns all blocks, sorted by offset.
  std::vector<Block> take() {
    short_.each([&](const Block& block) { long_.push_back(block); });
    std::stable_sort(long_.begin(), long_.end(), by_offset);
    return std::move(long_);
  }

 private:
  static std::pair<std::size_t, std::size_t> chunks_of(const Life& life) {
    return {static_cast<std::size_t>(life.first / kChunk),
            static_cast<std::size_t>(life.last / kChunk)};
  }
  static bool is_short(const Life& life) {
    const auto [first, last] = chunks_of(life);
    return last - first < kMostChunks;
  }
  static void insert_into(std::vector<Block>& list, const Block& block) {
    list.insert(std::upper_bound(list.begin(), list.end(), block, by_offset), block);
  }

  /// Fills found_ with the short blocks of these chunks, each once, sorted by offset.
  void collect(std::size_t first, std::size_t last) {
    found_ = chunks_[first];
    for (std::size_t chunk = first + 1; chunk <= last; ++chunk) {
      const auto known = std::ssize(found_);
      for (const Block& block : chunks_[chunk])
        if (chunks_of(block.life).first == chunk) found_.push_back(block);
      std::inplace_merge(found_.begin(), found_.begin() + known, found_.end(), by_offset);
    }
  }

  std::vector<std::vector<Block>> chunks_;  // the short blocks alive in each, sorted by offset
  SortedBlocks short_;
  std::vector<Block> long_;   // sorted by offset
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

/// Returns the blocks sorted by offset; none if they do not end before `limit`.
std::vector<Block> place_in_order(std::vector<Block> blocks, Before before, std::int64_t limit) {
  Placed placed(last_op(blocks));
  std::stable_sort(blocks.begin(), blocks.end(), before);
  for (Block& block : blocks) {
    block.offset = best_fit(placed, block);
    if (block.end() >= limit) return {};
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
  const std::int64_t shortest = most_alive(blocks);
  std::vector<Block> best;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const Before before : {larger, longer, later, larger_in_time}) {
    std::vector<Block> placed = place_in_order(blocks, before, end);
    if (placed.empty()) continue;
    best = std::move(placed);
    end = end_of(best);
    if (end == shortest) break;
  }
  return best;
}

}  // namespace ds
