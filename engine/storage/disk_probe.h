// How fast the files of a TileFiles are written and read, measured in a fraction of a second.
#pragma once

#include "engine/storage/tile_files.h"

namespace ds {

/// Overwrites the files. `chunk` bytes a call, as much as keeps the queue full.
DiskRates measure_disk(TileFiles& files, std::int64_t bytes, std::int64_t chunk);

}  // namespace ds
