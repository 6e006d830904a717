// What a rank saves of the optimizer's states, and where each part lies: in memory, in files, in
// the snapshot. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint/manifest.h"
#include "engine/program/passes.h"

namespace ds {

/// Elements [first, last) of a group's flat memory that this rank saves.
struct SavedRange {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const SavedRange&, const SavedRange&) = default;
};

/// By group. What a rank alone has; of states that all ranks have, an even cut of the leaves. All
/// ranks' ranges cover every group once.
std::vector<SavedRange> saved_ranges(const Program& step, const ShardSpec& spec);

/// The same of one group, by rank.
std::vector<SavedRange> rank_ranges(const ParamGroup& group, const ShardSpec& spec);

/// A part of one state that lies in one piece.
struct SavedTile {
  int group = 0;
  int state = 0;                         // 0: master, 1: moment1, 2: moment2
  std::int64_t first = 0, elements = 0;  // of the group's flat memory; multiples of kLeaf
  ValueId value = kNoValue;
  std::int64_t offset = 0;  // elements into the value's tensor
  // Of a master in two halves, `value` being the lower ones (i16): the upper ones (bf16).
  ValueId high = kNoValue;
  std::int64_t high_offset = 0;
  bool in_files = false;  // Tier::nvme: no part of the snapshot
  // Bytes into the snapshot, whole pages; two halves lie one behind the other, the lower ones
  // first.
  std::int64_t snapshot_at = 0, snapshot_bytes = 0;
};

/// Of this rank, by group, first element and state. Where two programs take turns (`odd`), each has
/// tiles of its own, of the same sizes and at the same places of the snapshot.
std::vector<SavedTile> saved_tiles(const Program& step, const ShardSpec& spec);

/// Of the writer's buffers, which lie behind the tiles in the snapshot's memory: pieces of two
/// kinds, and the largest tile that comes from files.
std::int64_t writer_bytes_of(const Program& step, const std::vector<SavedTile>& tiles);

/// The value whose files a tile in files is part of.
ValueId home_of_tile(const Program& step, const SavedTile& tile);

/// Bytes of the tiles in the snapshot.
std::int64_t snapshot_bytes_of(const std::vector<SavedTile>& tiles);

}  // namespace ds
