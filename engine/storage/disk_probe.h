// Measures the read and write rates of a TileFiles in a fraction of a second.
#pragma once

#include "engine/storage/tile_files.h"

namespace ds {

/// Returns the measured rates. Overwrites the files. `chunk` is the bytes per call, enough to keep
/// the queue full.
DiskRates measure_disk(TileFiles& files, std::int64_t bytes, std::int64_t chunk);

}  // namespace ds
