// Computes which ranges of a rank's files are saved, and the spare slots of async saves. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/passes.h"
#include "engine/states/saved_states.h"
#include "engine/storage/versioned_files.h"

namespace ds {

struct TrainPrograms;

/// Returns the file tiles that contain the saved tiles (in_files), each once, in order. One save
/// freezes them. `offsets` are those of the program's values.
std::vector<VersionedFiles::Tile> file_tiles(const Program& program,
                                             std::span<const std::int64_t> offsets,
                                             const std::vector<SavedTile>& saved);

/// Returns the bytes of spare slots with which no write of training ever waits for a save: as many
/// bytes as one save freezes.
std::int64_t spare_slot_bytes(const Program& step, const ShardSpec& spec);

/// Returns the slots planned by place_programs(); nullopt if no files are saved while training
/// continues. Frozen weights in files are saved but never written, so they have no slots.
std::optional<VersionedFiles::Slots> state_slots(const TrainPrograms& programs,
                                                 const PlacementPlan& plan);

}  // namespace ds
