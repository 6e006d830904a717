// Cuts of groups at leaves or at tensors, views, buckets and tiles.
#include "engine/program/slices.h"

#include <algorithm>

namespace ds {

Program pad_groups(Program program, const ShardSpec& spec) {
  if (spec.whole_tensors) return program;
  const std::int64_t unit = kLeaf * spec.world_size;
  for (ParamGroup& group : program.groups) {
    group.elements = (group.elements + unit - 1) / unit * unit;
    for (const ValueId whole : {group.weights, group.gradient})
      if (whole != kNoValue)
        program.values[static_cast<std::size_t>(whole)].shape = {group.elements};
  }
  return program;
}

std::vector<std::int64_t> cuts_of(const ParamGroup& group, const ShardSpec& spec) {
  const std::int64_t leaves = group.elements / kLeaf;
  std::vector<std::int64_t> cuts;
  for (std::int64_t rank = 0; rank <= spec.world_size; ++rank)
    cuts.push_back(leaves * rank / spec.world_size * kLeaf);
  if (!spec.whole_tensors) return cuts;
  for (std::size_t rank = 1; rank + 1 < cuts.size(); ++rank) {
    const auto next = std::find_if(group.tensors.begin(), group.tensors.end(),
                                   [&](const ParamTensor& t) { return t.offset >= cuts[rank]; });
    cuts[rank] = next == group.tensors.end() ? group.elements : next->offset;
  }
  return cuts;
}

ValueId add_view(Program& program, ValueId base, std::int64_t offset, const Shape& shape,
                 const std::string& name) {
  const Value& of = program.value(base);
  DS_ASSERT(of.base == kNoValue, "the base of a view must not be a view");
  return program.add_value({.name = name,
                            .kind = of.kind,
                            .dtype = of.dtype,
                            .shape = shape,
                            .micro = of.micro,
                            .base = base,
                            .offset = offset,
                            .tier = of.tier});
}

bool splits_weights(const ParamGroup& group, const ShardSpec& spec) {
  return spec.stage == 3 && spec.world_size > 1 && group.elements >= spec.persist_below;
}

std::vector<BucketRange> buckets_of(const std::vector<std::int64_t>& cuts, std::int64_t bucket) {
  const auto ranks = static_cast<std::int64_t>(cuts.size()) - 1;
  if (bucket >= cuts.back()) return {{}};
  std::int64_t longest = 0;
  for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
    longest = std::max(longest, cuts[rank + 1] - cuts[rank]);
  const std::int64_t length = std::max(bucket / ranks / kLeaf * kLeaf, kLeaf);
  std::vector<BucketRange> ranges;
  for (std::int64_t from = 0; from < longest; from += length) ranges.push_back({from, length});
  return ranges;
}

std::vector<TileRange> tiles_of(std::int64_t first, std::int64_t last, std::int64_t tile) {
  std::vector<TileRange> tiles;
  for (std::int64_t at = first; at < last; at += tiles.back().elements)
    tiles.push_back({at, tile >= last - at ? last - at : tile});
  return tiles;
}

PieceRange piece_of(const CommAttrs& comm, std::size_t rank) {
  const std::int64_t begin = comm.cuts[rank], end = comm.cuts[rank + 1];
  const std::int64_t first = std::min(begin + comm.from, end);
  return {first, comm.length >= end - first ? end : first + comm.length};
}

}  // namespace ds
