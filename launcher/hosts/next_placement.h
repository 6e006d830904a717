// Placement of each epoch of a job whose nodes come and go (--nodes MIN:MAX). Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/hosts/placement.h"

namespace ds::launcher {

/// Value of --nodes: the numbers of nodes between which a job may change.
struct NodeRange {
  int least = 1;
  int most = 1;  // 0, from MIN: alone: as many as there are hosts
  friend bool operator==(const NodeRange&, const NodeRange&) = default;
};

/// A host whose agent is there.
struct LiveHost {
  Host host;
  int node = -1;  // its node in the last placement; -1: it joins
};

struct NextPlacement {
  Placement placement;
  std::vector<int> chosen{};  // by node: the index of its host in the list of live hosts
};

/// Places the ranks of the next epoch. Survivors keep their order, and those that join follow in
/// the order of the list. Nodes, ranks and slots are numbered anew without holes. A host gets the
/// ranks that `request` gives it: its slots, or --ppn. At most `range.most` hosts are chosen.
/// Returns nothing if there are fewer than `range.least`. The result has the epoch after `last`.
/// Errors:  Error{config} of place_groups.
std::optional<NextPlacement> next_placement(const Placement& last,
                                            const std::vector<LiveHost>& live,
                                            const PlacementRequest& request, NodeRange range);

/// Returns the number of ranks on the `least` hosts with fewest ranks, and on the `most` hosts with
/// most. A host that is not known yet counts like the known one with most ranks.
/// Errors:  Error{config} of place_groups.
RankRange elastic_ranks(const std::vector<Host>& hosts, const PlacementRequest& request,
                        NodeRange range);

/// Returns the placement of the largest job, for the lists of the launcher that are as long as
/// the job may get. Nodes that no host fills yet have copies of the host with most ranks.
Placement widest_placement(std::vector<Host> hosts, const PlacementRequest& request,
                           NodeRange range, std::uint64_t epoch);

}  // namespace ds::launcher
