// Reduces a placement to the part of a job that this launcher starts (--part).
#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/hosts/placement.h"

namespace ds::launcher {

void make_part(Placement& placement, int node_rank, int nodes, std::string run_id) {
  if (placement.nodes.size() > 1 || placement.groups.size() > 1)
    throw Error(ErrorKind::usage,
                fmt::format("--part {}/{} needs one node with one program, not {} with {}",
                            node_rank, nodes, counted(std::ssize(placement.nodes), "node"),
                            counted(std::ssize(placement.groups), "program")),
                "start a separate launcher on each node of such a job");
  const int ranks = placement.world_size();
  if (static_cast<std::int64_t>(ranks) * nodes > kMostRanks)
    throw Error(
        ErrorKind::config,
        fmt::format("{} ranks on each of {} nodes requested; a job can have at most {} ranks",
                    ranks, nodes, kMostRanks),
        "lower -n or the number of nodes");
  placement.part = JobPart{node_rank, nodes, node_rank * ranks, nodes * ranks, std::move(run_id)};
}

void cut_part(Placement& placement, int node_rank) {
  const auto nodes = static_cast<int>(placement.nodes.size());
  if (node_rank >= nodes)
    throw Error(ErrorKind::usage, fmt::format("--part {} is out of range", node_rank),
                fmt::format("the hosts give {}, numbered from 0", counted(nodes, "node")));
  Node node = std::move(placement.nodes[static_cast<std::size_t>(node_rank)]);
  const int first = node.ranks.front();
  const auto ranks = static_cast<int>(node.ranks.size());
  if (placement.groups.size() > 1 || node.ranks.back() != first + ranks - 1)
    throw Error(ErrorKind::usage,
                fmt::format("--part {} needs one program whose ranks fill one host "
                            "after the other",
                            node_rank),
                "remove --map-by node");
  placement.part = JobPart{node_rank, nodes, first, placement.world_size(), {}};
  std::vector<RankPlace> places;
  for (int rank = 0; rank < ranks; ++rank) {
    RankPlace place = placement.ranks[static_cast<std::size_t>(first + rank)];
    place.rank = rank;
    place.node_rank = 0;
    places.push_back(place);
    node.ranks[static_cast<std::size_t>(rank)] = rank;
  }
  node.node_rank = 0;
  placement.ranks = std::move(places);
  placement.groups.front().first_rank = 0;
  placement.groups.front().ranks = ranks;
  placement.nodes.clear();
  placement.nodes.push_back(std::move(node));
}

}  // namespace ds::launcher
