// Which ranges of a rank's files hold what it saves, and the spare ones that let training go on
// while they are copied. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/passes.h"
#include "engine/storage/versioned_files.h"
#include "engine/train/saved_states.h"

namespace ds {

struct TrainPrograms;

/// The tile of the files that a saved one (in_files) is a part of: what is frozen, and released
/// once all of its parts were copied. `offsets`: of the program's values.
VersionedFiles::Tile file_tile(const Program& program, std::span<const std::int64_t> offsets,
                               const SavedTile& saved);

/// Byte of the files at which the saved tile's first element lies, dense, as fp32.
std::int64_t file_offset(std::span<const std::int64_t> offsets, const SavedTile& saved);

/// Those of all saved tiles in files, each once, in their order: what is frozen for one save.
std::vector<VersionedFiles::Tile> file_tiles(const Program& program,
                                             std::span<const std::int64_t> offsets,
                                             const std::vector<SavedTile>& saved);

/// Bytes of spare slots with which no write of training ever waits for a save: as many as one save
/// freezes.
std::int64_t spare_slot_bytes(const Program& step, const ShardSpec& spec);

/// As place_programs() planned them; none where nothing in files is saved while training goes on.
VersionedFiles::Slots state_slots(const TrainPrograms& programs, const PlacementPlan& plan);

}  // namespace ds
