// Best fit, in a few orders.
#include "engine/program/pack.h"

#include <algorithm>
#include <optional>

namespace ds {
namespace {

constexpr std::int64_t kSmallAlignment = 512, kPageAligned = 64 << 10;

/// The smallest hole that fits among blocks alive at the same time, else their end. `placed` is
/// sorted by offset.
std::int64_t best_fit(const std::vector<Block>& placed, const Block& block) {
  const std::int64_t alignment = alignment_for(block.bytes);
  std::int64_t cursor = 0, best_hole = 0;
  std::optional<std::int64_t> best;
  for (const Block& other : placed) {
    if (!other.life.meets(block.life)) continue;
    const std::int64_t hole = other.offset - cursor;
    if (hole >= block.bytes && (!best || hole < best_hole)) {
      best = cursor;
      best_hole = hole;
    }
    cursor = std::max(cursor, round_up(other.end(), alignment));
  }
  return best.value_or(cursor);
}

/// Which block is placed before which: the earlier finds more room.
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

/// Returned sorted by offset.
std::vector<Block> place_in_order(std::vector<Block> blocks, Before before) {
  std::stable_sort(blocks.begin(), blocks.end(), before);
  std::vector<Block> placed;
  const auto by_offset = [](const Block& a, const Block& b) { return a.offset < b.offset; };
  for (Block& block : blocks) {
    block.offset = best_fit(placed, block);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block, by_offset), block);
  }
  return placed;
}

}  // namespace

std::int64_t alignment_for(std::int64_t bytes) {
  return bytes >= kPageAligned ? kPage : kSmallAlignment;
}

std::int64_t end_of(const std::vector<Block>& placed) {
  std::int64_t end = 0;
  for (const Block& block : placed) end = std::max(end, block.end());
  return end;
}

std::vector<Block> pack(const std::vector<Block>& blocks) {
  std::vector<Block> best;
  for (const Before before : {larger, longer, later, larger_in_time}) {
    std::vector<Block> placed = place_in_order(blocks, before);
    if (best.empty() || end_of(placed) < end_of(best)) best = std::move(placed);
  }
  return best;
}

}  // namespace ds
