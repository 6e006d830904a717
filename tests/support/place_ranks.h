// Placement of one program, for tests.
#pragma once

#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Places one group of `rank_count` ranks, or of every slot.
inline Placement place_ranks(const std::vector<Host>& hosts, std::optional<int> rank_count,
                             std::uint64_t epoch) {
  PlacementRequest request;
  request.groups.front().ranks = rank_count;
  return place_groups(hosts, request, epoch);
}

}  // namespace ds::launcher
