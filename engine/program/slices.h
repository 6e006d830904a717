// How a group's flat memory is cut among ranks, and a slice into buckets and tiles. Pure.
#pragma once

#include "engine/program/passes.h"

namespace ds {

/// Returns the program with every group as long as equal slices need: one collective then moves all
/// slices of a group. The padding at the end is a gap: it stays zero. Whole tensors are not padded,
/// because their slices differ anyway.
Program pad_groups(Program program, const ShardSpec& spec);

/// Returns the element at which each rank's slice starts, and the end. Slices of a padded group are
/// equal, and otherwise as even as possible in leaves; or they are whole tensors (those whose first
/// element lies in the rank's even share).
std::vector<std::int64_t> cuts_of(const ParamGroup& group, const ShardSpec& spec);

/// Returns whether ranks keep only slices of the group's weights.
bool splits_weights(const ParamGroup& group, const ShardSpec& spec);

/// Adds the value that holds this rank's slice of the group's weights.
ValueId add_weight_slice(Program& program, const ParamGroup& group, const ShardSpec& spec);

/// Adds a view of `base`, which is not a view, with the same kind, type and tier.
ValueId add_view(Program& program, ValueId base, std::int64_t offset, const Shape& shape,
                 const std::string& name);

/// Returns the ranges of every slice that one collective each moves; {0, INT64_MAX} alone when
/// everything goes at once. `bucket`: most elements of the whole group.
struct BucketRange {
  std::int64_t from = 0, length = INT64_MAX;
};
std::vector<BucketRange> buckets_of(const std::vector<std::int64_t>& cuts, std::int64_t bucket);

/// Cuts [first, last) into tiles of at most `tile` elements.
struct TileRange {
  std::int64_t first = 0, elements = 0;
};
std::vector<TileRange> tiles_of(std::int64_t first, std::int64_t last, std::int64_t tile);

/// The part of the rank's slice that a communication op moves: [first, last) of the whole group.
struct PieceRange {
  std::int64_t first = 0, last = 0;
  [[nodiscard]] std::int64_t elements() const { return last - first; }
};
PieceRange piece_of(const CommAttrs& comm, std::size_t rank);

}  // namespace ds
