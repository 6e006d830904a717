// Which rank runs where, as one value per epoch. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// A place in the job. The agent that fills it may change from epoch to epoch; the node rank does
/// not.
struct Node {
  Host host;
  int node_rank = 0;
  std::vector<int> ranks{};  // by local rank: so many as LOCAL_WORLD_SIZE; never empty
};

/// One program of the job (mpirun's ` : ` form); most jobs have one. Its ranks are consecutive.
struct Group {
  std::string name = "default";  // ROLE_NAME
  int first_rank = 0;
  int ranks = 0;
  friend bool operator==(const Group&, const Group&) = default;
};

/// One rank's place.
struct RankPlace {
  int rank = 0;
  int node_rank = 0;
  int local_rank = 0;
  int slot = 0;
  int group = 0;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// The whole job's map for one epoch. Invariants: ranks[i].rank == i; nodes[i].node_rank == i;
/// every node and every group has at least one rank; groups cover the ranks in order.
struct Placement {
  std::uint64_t epoch = 0;
  std::vector<Node> nodes;
  std::vector<RankPlace> ranks;
  std::vector<Group> groups;
  [[nodiscard]] int world_size() const { return static_cast<int>(ranks.size()); }
};

/// Fills slots host by host, in hostfile order; `rank_count` (-n) takes only the first so many
/// slots, and hosts left without ranks are not part of the job. Errors:  Error{config} when there
/// are fewer slots than `rank_count`, with the totals and a hint.
Placement place_ranks(const std::vector<Host>& hosts, std::optional<int> rank_count,
                      std::uint64_t epoch);

/// The table of --dry-run and the array of --dry-run=json (rank, node, node_rank, local_rank,
/// slot).
std::string placement_table(const Placement& placement);
std::string placement_json(const Placement& placement);

}  // namespace ds::launcher
