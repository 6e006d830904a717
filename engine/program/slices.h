// How a group's flat memory is cut into buckets, buckets among ranks, and slices into tiles. Pure.
#pragma once

#include "engine/program/passes.h"

namespace ds {

/// Returns the program with every group as long as equal slices need: one collective then moves all
/// slices of a group. The padding at the end is a gap: it stays zero. Whole tensors are not padded,
/// because their slices differ anyway.
Program pad_groups(Program program, const ShardSpec& spec);

/// Returns the group's buckets, which are contiguous and which one collective moves each: for each,
/// the element at which each rank's piece starts, and the end. Pieces of a bucket are equal where
/// the group is padded; or a rank has the whole tensors whose first element lies in its even share
/// of the group, and the bucket's part of them.
using BucketCuts = std::vector<std::int64_t>;
std::vector<BucketCuts> buckets_of(const ParamGroup& group, const ShardSpec& spec);

/// Returns what a rank owns: its pieces of all buckets, which are one after the other in its slice.
/// Adjacent pieces are joined, so a group of one bucket has at most one part.
std::vector<OwnedPart> owned_by(const ParamGroup& group, const ShardSpec& spec, int rank);

/// Returns where an element that this rank owns is in its slice.
std::int64_t offset_in_slice(const ParamGroup& group, std::int64_t element);

/// Returns what a communication op moves of each bucket, as this rank sees it.
std::vector<CommAttrs> comms_of(const ParamGroup& group, const ShardSpec& spec);

/// Returns the length of the slice that consists of these parts.
std::int64_t slice_elements(const std::vector<OwnedPart>& parts);

/// Returns whether ranks keep only slices of the group's weights.
bool splits_weights(const ParamGroup& group, const ShardSpec& spec);

/// Adds the value that holds this rank's slice of the group's weights.
ValueId add_weight_slice(Program& program, const ParamGroup& group, const ShardSpec& spec);

/// Adds a view of `base`, which is not a view, with the same kind, type and tier.
ValueId add_view(Program& program, ValueId base, std::int64_t offset, const Shape& shape,
                 const std::string& name);

/// Cuts each part into tiles of at most `tile` elements.
std::vector<OwnedPart> tiles_of(const std::vector<OwnedPart>& parts, std::int64_t tile);

}  // namespace ds
