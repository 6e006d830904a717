// Lists tiles by the values that hold them; lays out spare slots one after the other.
#include "engine/train/state_slots.h"

#include <algorithm>

#include "engine/program/liveness.h"
#include "engine/train/programs.h"

namespace ds {
namespace {

/// Returns the values that hold saved tiles in files. The states of a tile are adjacent in one
/// value and in the list.
std::vector<ValueId> homes_of(const Program& program, const std::vector<SavedTile>& saved) {
  std::vector<ValueId> homes;
  for (const SavedTile& tile : saved) {
    if (!tile.in_files || tile.frozen) continue;
    const ValueId home = home_of_tile(program, tile);
    if (homes.empty() || homes.back() != home) homes.push_back(home);
  }
  return homes;
}

}  // namespace

std::vector<VersionedFiles::Tile> file_tiles(const Program& program,
                                             std::span<const std::int64_t> offsets,
                                             const std::vector<SavedTile>& saved) {
  std::vector<VersionedFiles::Tile> tiles;
  for (const ValueId home : homes_of(program, saved))
    tiles.push_back({offsets[static_cast<std::size_t>(home)], bytes_of(program.value(home))});
  return tiles;
}

std::int64_t spare_slot_bytes(const Program& step, const ShardSpec& spec) {
  std::int64_t bytes = 0;
  for (const ValueId home : homes_of(step, saved_tiles(step, spec)))
    bytes += bytes_of(step.value(home));
  return bytes;
}

std::optional<VersionedFiles::Slots> state_slots(const TrainPrograms& programs,
                                                 const PlacementPlan& plan) {
  if (!programs.saver || !programs.saver->keeps_snapshot) return std::nullopt;
  const auto saved_by_step = saved_tiles(programs.step, programs.spec);
  if (std::ranges::none_of(saved_by_step, &SavedTile::in_files)) return std::nullopt;
  VersionedFiles::Slots slots;
  const TierPlan& files = plan.of(Tier::nvme);
  const std::vector<const Program*> all = programs.all();
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (all[p] != &programs.step && !(programs.odd && all[p] == &*programs.odd)) continue;
    const auto tiles = file_tiles(*all[p], plan.offsets[p], saved_tiles(*all[p], programs.spec));
    slots.tiles.insert(slots.tiles.end(), tiles.begin(), tiles.end());
    if (all[p] == &programs.step) slots.spares = tiles;
  }
  std::int64_t at = files.snapshot_offset;
  for (VersionedFiles::Tile& spare : slots.spares) {
    spare.offset = at;
    at += spare.bytes;
  }
  DS_ASSERT(at == files.snapshot_offset + files.snapshot_bytes);
  return slots;
}

}  // namespace ds
