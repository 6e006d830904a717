// Writes the states that a rank saves as pieces of logical tensors, from snapshot, memory or files.
#pragma once

#include <span>
#include <vector>

#include "engine/checkpoint/chunk_writer.h"
#include "engine/execute/executor.h"
#include "engine/states/saved_states.h"
#include "engine/storage/versioned_files.h"

namespace ds {

struct StatesToSave {
  const Program& program;  // the program that owns the states
  const Executor& executor;
  StateClass held;  // class of all states
  std::span<const SavedTile> tiles;
  const std::byte* snapshot = nullptr;  // null: states are written from their own memory
  VersionedFiles* frozen = nullptr;     // for tiles in files if training continues meanwhile
  TileFiles* files = nullptr;           // for tiles in files if training waits
};

/// Returns the most elements of a piece, the same on all ranks: a 4096th of all states, but 1 to 8
/// MiB of them. A reader verifies whole pieces, so the ranks of a larger job read little that they
/// do not need; a large model has no longer list of pieces for it. Pure.
std::int64_t piece_elements(const Program& program);

/// Appends the tensors of every tile to `chunk`, in order, and returns the list of pieces without
/// the file name. `buffer` has writer_bytes_of() bytes at a multiple of kTileAlignment. Errors:
/// those of the chunk and of the files.
ChunkPart write_states(const StatesToSave& states, ChunkWriter& chunk, std::span<std::byte> buffer);

/// Returns the part that write_states() would return, with the chunk's name and size, but without
/// checksums. Pure.
ChunkPart layout_of(const Program& program, const ShardSpec& spec);

/// Returns the extents of a shape in the form of manifests.
std::vector<std::int64_t> extents_of(const Shape& shape);

/// Returns replicated for stage 0 and sharded for all other stages.
StateClass class_of(const ShardSpec& spec);

/// Returns the tensors and states of the whole job, without pieces.
std::vector<TensorEntry> saved_tensors(const Program& program, const ShardSpec& spec);

}  // namespace ds
