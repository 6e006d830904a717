// Helpers of the offload passes: copies between tiers and padding.
#include "engine/program/offload.h"

namespace ds {

std::int64_t padded(std::int64_t elements) {
  return (elements + 2 * kLeaf - 1) / (2 * kLeaf) * (2 * kLeaf);
}

Op copy_between_tiers(const OffloadSpec& spec, const CopyPlace& place, ValueId from, ValueId to) {
  return {.attrs = ops::Copy{},
          .path = place.path,
          .in = {from},
          .out = {to},
          .group = place.group,
          .stream = spec.overlap ? place.stream : StreamId::compute};
}

}  // namespace ds
