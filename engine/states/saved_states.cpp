// Cuts tiles down to the ranges that this rank saves.
#include "engine/states/saved_states.h"

#include <algorithm>
#include <array>

#include "engine/program/pack.h"
#include "engine/program/slices.h"
#include "engine/states/frozen_weights.h"

namespace ds {
namespace {

/// Adds the place of the upper halves to the tile of a split16 master.
void add_upper_halves(const ParamGroup& group, SavedTile& saved) {
  const bool is_whole = group.weights != kNoValue;
  saved.high = is_whole ? group.weights : group.slice;
  saved.high_offset = is_whole ? saved.first : offset_in_slice(group, saved.first);
}

}  // namespace

ElementRange even_share(const ParamGroup& group, int rank, int world_size) {
  const std::int64_t leaves = group.elements / kLeaf;
  const auto cut = [&](std::int64_t r) { return leaves * r / world_size * kLeaf; };
  return {cut(rank), cut(rank + 1)};
}

std::vector<SavedTile> saved_tiles(const Program& step, const ShardSpec& spec) {
  std::vector<SavedTile> saved;
  std::int64_t at = 0;
  for (std::size_t g = 0; g < step.groups.size(); ++g) {
    const ParamGroup& group = step.groups[g];
    const ElementRange range = spec.stage == 0 ? even_share(group, spec.rank, spec.world_size)
                                               : ElementRange{0, group.elements};
    for (const StateTile& tile : group.states) {
      const std::int64_t first = std::max(tile.first, range.first);
      const std::int64_t last = std::min(tile.first + tile.elements, range.last);
      const std::array<ValueId, 3> states{tile.master, tile.moment1, tile.moment2};
      for (int s = 0; first < last && s < std::ssize(states); ++s) {
        const ValueId value = states[static_cast<std::size_t>(s)];
        if (value == kNoValue) continue;
        SavedTile& part = saved.emplace_back(SavedTile{.group = static_cast<int>(g),
                                                       .state = s,
                                                       .first = first,
                                                       .elements = last - first,
                                                       .value = value,
                                                       .offset = first - tile.first});
        if (step.value(value).dtype == DType::i16) add_upper_halves(group, part);
        part.in_files = step.value(value).tier == Tier::nvme;
        part.frozen = !group.trains;
        part.snapshot_at = at;
        const DType kept = part.frozen ? step.value(value).dtype : DType::f32;
        part.snapshot_bytes = part.in_files ? 0 : round_up(part.elements * size_of(kept), kPage);
        at += part.snapshot_bytes;
      }
    }
  }
  return saved;
}

ValueId home_of_tile(const Program& step, const SavedTile& tile) {
  const ValueId base = step.value(tile.value).base;
  return base == kNoValue ? tile.value : base;
}

std::int64_t writer_bytes_of(const Program& step, const std::vector<SavedTile>& tiles) {
  std::int64_t largest = 0;
  for (const SavedTile& tile : tiles) {
    if (!tile.in_files) continue;
    largest = std::max(largest, tile.frozen ? most_file_bytes(kPieceBytes / 4)
                                            : bytes_of(step.value(home_of_tile(step, tile))));
  }
  return 2 * kPieceBytes + largest;
}

std::int64_t snapshot_bytes_of(const std::vector<SavedTile>& tiles) {
  return tiles.empty() ? 0 : tiles.back().snapshot_at + tiles.back().snapshot_bytes;
}

}  // namespace ds
