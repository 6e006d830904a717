// Opens and measures the files for a rank's offloaded state, as train.toml configures them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/config/memory_config.h"
#include "engine/storage/versioned_files.h"

namespace ds {

/// Opens the files and reserves their space; returns null if `bytes` is 0. With `slots`, even if
/// there are none in it, the result is a VersionedFiles, which a save may read beside training.
/// Errors: Error{config}, see TileFiles.
std::unique_ptr<TileFiles> open_state_files(
    const OffloadConfig& config, int rank, std::int64_t bytes,
    std::optional<VersionedFiles::Slots> slots = std::nullopt);

/// Measures the files and returns, for messages, the engine and the rates. Call it before anything
/// is written and after all memory was offered.
std::string measure_state_files(TileFiles& files);

}  // namespace ds
