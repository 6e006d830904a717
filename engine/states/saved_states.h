// Computes which optimizer states a rank saves, and their places in memory, files, snapshot. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint/manifest.h"
#include "engine/program/passes.h"

namespace ds {

/// Elements [first, last) of a group's flat memory.
struct ElementRange {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// Returns the rank's even share of a group's leaves: what it saves and reads of replicated values.
/// The shares of all ranks cover the group exactly once.
ElementRange even_share(const ParamGroup& group, int rank, int world_size);

/// A contiguous part of one state.
struct SavedTile {
  int group = 0;
  int state = 0;                         // 0: master, 1: moment1, 2: moment2
  std::int64_t first = 0, elements = 0;  // in the group's flat memory; multiples of kLeaf
  ValueId value = kNoValue;
  std::int64_t offset = 0;  // elements into the value's tensor
  // For a split16 master, `value` holds the lower halves (i16) and `high` the upper ones (bf16).
  ValueId high = kNoValue;
  std::int64_t high_offset = 0;
  bool in_files = false;  // Tier::nvme: not in the snapshot
  bool frozen = false;    // weights that do not train, in their own type; saved as f32 masters
  // Bytes into the snapshot, in whole pages. The lower halves of a split16 master come first, then
  // the upper ones.
  std::int64_t snapshot_at = 0, snapshot_bytes = 0;
};

/// Returns the tiles that this rank saves, by group, first element and state. Where two programs
/// alternate (`odd`), each has its own tiles, with the same sizes and places in the snapshot.
std::vector<SavedTile> saved_tiles(const Program& step, const ShardSpec& spec);

/// Returns the bytes of the writer's buffers, which follow the tiles in the snapshot's memory:
/// pieces of two kinds and the largest tile that is read from files.
std::int64_t writer_bytes_of(const Program& step, const std::vector<SavedTile>& tiles);

/// Returns the value whose file range contains the tile.
ValueId home_of_tile(const Program& step, const SavedTile& tile);

/// Returns the bytes of all tiles in the snapshot.
std::int64_t snapshot_bytes_of(const std::vector<SavedTile>& tiles);

}  // namespace ds
