// Which ranges of a rank's files hold what it saves, and the spare ones that let training go on
// while they are copied. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/passes.h"
#include "engine/states/saved_states.h"
#include "engine/storage/versioned_files.h"

namespace ds {

struct TrainPrograms;

/// The tiles of the files that saved ones (in_files) are parts of, each once, in their order: what
/// is frozen for one save. `offsets`: of the program's values.
std::vector<VersionedFiles::Tile> file_tiles(const Program& program,
                                             std::span<const std::int64_t> offsets,
                                             const std::vector<SavedTile>& saved);

/// Bytes of spare slots with which no write of training ever waits for a save: as many as one save
/// freezes.
std::int64_t spare_slot_bytes(const Program& step, const ShardSpec& spec);

/// As place_programs() planned them; none where nothing in files is saved while training goes on.
VersionedFiles::Slots state_slots(const TrainPrograms& programs, const PlacementPlan& plan);

}  // namespace ds
