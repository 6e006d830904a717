// The files of a rank's offloaded state, as train.toml asks for them.
#pragma once

#include <memory>
#include <string>

#include "engine/config/memory_config.h"
#include "engine/storage/versioned_files.h"

namespace ds {

/// Takes the space; null when there are no bytes for it. With slots they are VersionedFiles.
/// Errors: Error{config}, see TileFiles.
std::unique_ptr<TileFiles> open_state_files(const OffloadConfig& config, int rank,
                                            std::int64_t bytes, VersionedFiles::Slots slots = {});

/// For people: how the files are reached and how fast, measured now: before anything is written,
/// after all memory was offered.
std::string measure_state_files(TileFiles& files);

}  // namespace ds
