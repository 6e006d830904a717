// Cuts of groups into buckets, at leaves or at tensors; views and tiles.
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

namespace {

/// Returns the element at which each rank's whole tensors start, and the end of the group.
BucketCuts tensor_cuts(const ParamGroup& group, int world_size) {
  const std::int64_t leaves = group.elements / kLeaf;
  BucketCuts cuts;
  for (std::int64_t rank = 0; rank <= world_size; ++rank) {
    const std::int64_t share = leaves * rank / world_size * kLeaf;
    const auto next = std::find_if(group.tensors.begin(), group.tensors.end(),
                                   [&](const ParamTensor& t) { return t.offset >= share; });
    cuts.push_back(next == group.tensors.end() ? group.elements : next->offset);
  }
  cuts.front() = 0;
  cuts.back() = group.elements;
  return cuts;
}

}  // namespace

// Pieces are whole pages of 16-bit weights, so that each begins on a page where slices are in
// files.
std::vector<BucketCuts> buckets_of(const ParamGroup& group, const ShardSpec& spec) {
  const std::int64_t unit = 2 * kLeaf * spec.world_size;
  const std::int64_t length = std::max(spec.bucket / unit, std::int64_t{1}) * unit;
  const BucketCuts tensors =
      spec.whole_tensors ? tensor_cuts(group, spec.world_size) : BucketCuts();
  std::vector<BucketCuts> buckets;
  for (std::int64_t first = 0; first < group.elements; first = buckets.back().back()) {
    const std::int64_t last = first + std::min(length, group.elements - first);
    BucketCuts& cuts = buckets.emplace_back();
    for (int rank = 0; rank <= spec.world_size; ++rank) {
      const std::int64_t leaves = (last - first) / kLeaf * rank / spec.world_size;
      cuts.push_back(spec.whole_tensors
                         ? std::clamp(tensors[static_cast<std::size_t>(rank)], first, last)
                         : first + leaves * kLeaf);
    }
  }
  return buckets;
}

std::vector<OwnedPart> owned_by(const ParamGroup& group, const ShardSpec& spec, int rank) {
  std::vector<OwnedPart> parts;
  const auto r = static_cast<std::size_t>(rank);
  for (const BucketCuts& cuts : buckets_of(group, spec)) {
    const std::int64_t first = cuts[r], elements = cuts[r + 1] - first;
    if (elements == 0) continue;
    if (!parts.empty() && parts.back().first + parts.back().elements == first) {
      parts.back().elements += elements;
    } else {
      parts.push_back({.first = first, .elements = elements, .at = slice_elements(parts)});
    }
  }
  return parts;
}

std::vector<CommAttrs> comms_of(const ParamGroup& group, const ShardSpec& spec) {
  const auto rank = static_cast<std::size_t>(spec.rank);
  std::vector<CommAttrs> comms;
  std::int64_t at = 0;
  for (BucketCuts& cuts : buckets_of(group, spec)) {
    const std::int64_t elements = cuts[rank + 1] - cuts[rank];
    comms.push_back({.cuts = std::move(cuts), .contributes = {}, .at = at});
    at += elements;
  }
  return comms;
}

std::int64_t offset_in_slice(const ParamGroup& group, std::int64_t element) {
  const auto part = std::ranges::find_if(group.own, [&](const OwnedPart& each) {
    return element >= each.first && element < each.first + each.elements;
  });
  DS_ASSERT(part != group.own.end(), "the rank must own the element");
  return part->at + element - part->first;
}

std::int64_t slice_elements(const std::vector<OwnedPart>& parts) {
  return parts.empty() ? 0 : parts.back().at + parts.back().elements;
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

std::vector<OwnedPart> tiles_of(const std::vector<OwnedPart>& parts, std::int64_t tile) {
  std::vector<OwnedPart> tiles;
  for (const OwnedPart& part : parts) {
    for (std::int64_t done = 0; done < part.elements; done += tiles.back().elements)
      tiles.push_back({part.first + done, std::min(tile, part.elements - done), part.at + done});
  }
  return tiles;
}

}  // namespace ds
