// Placement: which rank runs on which node and slot, one value per epoch; and spare hosts, which
// are kept in reserve to replace other hosts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// A node's place in the job. The agent of a node may change between epochs, but not its node rank.
struct Node {
  Host host;
  int node_rank = 0;
  std::vector<int> ranks{};  // by local rank, LOCAL_WORLD_SIZE in all; never empty
};

/// One program of the job; most jobs have one, mpirun's ` : ` form has several. The ranks of
/// a program are consecutive.
struct Group {
  std::string name = "default";  // ROLE_NAME
  int first_rank = 0;
  int ranks = 0;
  friend bool operator==(const Group&, const Group&) = default;
};

/// Place of one rank.
struct RankPlace {
  int rank = 0;
  int node_rank = 0;
  int local_rank = 0;
  int slot = 0;
  int group = 0;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// Part of a larger job. The other parts are started separately, as with torchrun's static
/// rendezvous; all nodes have the same number of ranks.
struct JobPart {
  int node_rank = 0;     // of the part's first node, in the whole job
  int nodes = 1;         // of the whole job; 1: the part is the whole job
  int first_rank = 0;    // rank of the part's rank 0, in the whole job
  int world_size = 0;    // of the whole job
  std::string run_id{};  // common name of the job; empty: not given
  friend bool operator==(const JobPart&, const JobPart&) = default;
};

/// Map of a job for one epoch. Invariants: ranks[i].rank == i; nodes[i].node_rank == i; every node
/// and every group has at least one rank; groups cover the ranks in order.
struct Placement {
  std::uint64_t epoch = 0;
  std::uint64_t first_epoch = 0;  // first epoch of this launcher
  int restarts = 0;               // TORCHELASTIC_RESTART_COUNT: counted against --max-restarts
  std::vector<Node> nodes;
  std::vector<RankPlace> ranks;
  std::vector<Group> groups;
  std::optional<JobPart> part{};
  /// Returns the number of ranks that this launcher starts.
  [[nodiscard]] int world_size() const { return static_cast<int>(ranks.size()); }

  // Numbers in the whole job, as ranks and messages have them.
  [[nodiscard]] int shown_rank(int rank) const { return part ? part->first_rank + rank : rank; }
  [[nodiscard]] int shown_node(int node) const { return part ? part->node_rank + node : node; }
  [[nodiscard]] int shown_world() const { return part ? part->world_size : world_size(); }
  [[nodiscard]] int shown_nodes() const {
    return part ? part->nodes : static_cast<int>(nodes.size());
  }
};

inline constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;  // of a job

/// Placement request of one group.
struct GroupRequest {
  std::string name = "default";
  std::optional<int> ranks{};     // -n; empty: the remaining slots
  std::vector<HostPick> hosts{};  // --host of this group
  std::optional<int> per_host{};  // --ppn of this group: its ranks on each host, at most
};

struct PlacementRequest {
  std::vector<GroupRequest> groups = {GroupRequest{}};
  bool by_node = false;                // ranks go round the hosts instead of filling one by one
  std::optional<bool> rank_by_node{};  // so do their numbers; empty: as by_node
  bool in_sequence = false;            // a rank for each place in the list of hosts, in its order
  bool oversubscribe = false;          // allow more ranks than slots, up to max_slots
  bool rounds = false;  // ranks beyond the slots fill them again, and are numbered after the others
  std::optional<int> ranks_per_host{};  // --ppn: ranks on each host, also on a bare one
};

/// Assigns slots to the groups in order and numbers the ranks in that order. Hosts without ranks
/// are not part of the job. Nodes keep the order of `hosts`, none of which may be kAutoSlots.
/// Errors:  Error{config} if there are fewer slots than ranks, with both numbers and a hint.
Placement place_groups(const std::vector<Host>& hosts, const PlacementRequest& request,
                       std::uint64_t epoch);

/// Makes the one node of `placement` node `node_rank` of `nodes` nodes with equal numbers of ranks.
/// Errors:  Error{usage} if the placement has several nodes or programs.
void make_part(Placement& placement, int node_rank, int nodes, std::string run_id);

/// Reduces `placement` to node `node_rank`, as a part of the whole job.
/// Errors:  Error{usage}: no such node, several programs, or ranks that go round the hosts.
void cut_part(Placement& placement, int node_rank);

/// Numbers of ranks of the smallest and the largest job with --nodes MIN:MAX.
struct RankRange {
  int least = 0;
  int most = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};
/// Returns "LEAST:MOST".
inline std::string range_text(const RankRange& range) {
  return std::to_string(range.least) + ":" + std::to_string(range.most);
}

/// Placement, and the spare hosts.
struct PlacedJob {
  Placement placement;
  std::vector<Host> spares;
  // Of a job whose number of nodes may change (next_placement.h).
  std::optional<PlacementRequest> elastic{};
  int nodes_least = 0, nodes_most = 0;
  std::optional<RankRange> elastic_ranks{};
  std::optional<Placement> widest{};
};

/// Removes the last `count` hosts from `hosts` and returns them.
/// Errors:  Error{config} if no host would be left.
std::vector<Host> take_spares(std::vector<Host>& hosts, int count);

/// Errors:  Error{config} naming a spare with too few slots for any node.
void check_spares(const Placement& placement, const std::vector<Host>& spares);

/// Return the table of --dry-run, and the array of --dry-run=json (rank, node, node_rank,
/// local_rank, slot, role). The table has a column for roles if there are several programs.
std::string placement_table(const Placement& placement);
std::string placement_json(const Placement& placement);

}  // namespace ds::launcher
