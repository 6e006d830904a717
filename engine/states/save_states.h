// Writes what a rank saves of its states as pieces of logical tensors, from the snapshot or
// straight from where they lie.
#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/chunk_writer.h"
#include "engine/execute/executor.h"
#include "engine/states/saved_states.h"
#include "engine/storage/versioned_files.h"

namespace ds {

struct StatesToSave {
  const Program& program;  // whose states they are
  const Executor& executor;
  StateClass held;  // of all of them
  std::span<const SavedTile> tiles;
  const std::byte* snapshot = nullptr;  // null: they stay where they are until all is written
  VersionedFiles* frozen = nullptr;     // of tiles in files, if training goes on meanwhile
  TileFiles* files = nullptr;           // of tiles in files, if it waits
};

/// Appends every tile's tensors to `chunk`, in order. The part's file is the caller's to fill in.
/// `buffer`: writer_bytes_of(), at a multiple of kTileAlignment. Errors: those of the chunk and of
/// the files.
ChunkPart write_states(const StatesToSave& states, ChunkWriter& chunk, std::span<std::byte> buffer);

/// As manifests have shapes.
std::vector<std::int64_t> extents_of(const Shape& shape);

/// Stage 0 replicates states, the others shard them.
StateClass class_of(const ShardSpec& spec);

/// Tensors and states of the whole job, without pieces.
std::vector<TensorEntry> saved_tensors(const Program& program, const ShardSpec& spec);

}  // namespace ds
