// Which rank runs where, as one value per epoch. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/host_selection.h"
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

/// Which part of a larger job this one is. The others are started apart, as torchrun's static
/// rendezvous does; their nodes have as many ranks as they have.
struct JobPart {
  int node_rank = 0;     // of its first node in the whole
  int nodes = 1;         // of the whole; 1: nothing is missing
  int first_rank = 0;    // the number of its rank 0 in the whole
  int world_size = 0;    // of the whole
  std::string run_id{};  // that all parts call the job by; empty: none given
  friend bool operator==(const JobPart&, const JobPart&) = default;
};

/// The whole job's map for one epoch. Invariants: ranks[i].rank == i; nodes[i].node_rank == i;
/// every node and every group has at least one rank; groups cover the ranks in order.
struct Placement {
  std::uint64_t epoch = 0;
  std::uint64_t first_epoch = 0;  // the one that this launcher began with; restarts count from it
  std::vector<Node> nodes;
  std::vector<RankPlace> ranks;
  std::vector<Group> groups;
  std::optional<JobPart> part{};
  /// Of the ranks that this launcher starts.
  [[nodiscard]] int world_size() const { return static_cast<int>(ranks.size()); }

  // What ranks and people see: numbers in the whole job.
  [[nodiscard]] int shown_rank(int rank) const { return part ? part->first_rank + rank : rank; }
  [[nodiscard]] int shown_node(int node) const { return part ? part->node_rank + node : node; }
  [[nodiscard]] int shown_world() const { return part ? part->world_size : world_size(); }
  [[nodiscard]] int shown_nodes() const {
    return part ? part->nodes : static_cast<int>(nodes.size());
  }
};

/// What a group asks for.
struct GroupRequest {
  std::string name = "default";
  std::optional<int> ranks{};     // -n; empty: every slot that is left
  std::vector<HostPick> hosts{};  // --host of this group alone
};

struct PlacementRequest {
  std::vector<GroupRequest> groups = {GroupRequest{}};
  bool by_node = false;                 // ranks go round the hosts instead of filling one by one
  bool oversubscribe = false;           // more ranks than slots are fine, up to max_slots
  std::optional<int> ranks_per_host{};  // --ppn: this many on each, whatever a bare host says
};

/// Gives slots to groups in their order, and numbers the ranks in that order. Hosts left without
/// ranks are not part of the job; nodes keep the order of `hosts`, none of which is kAutoSlots.
/// Errors:  Error{config} when there are fewer slots than ranks, with the totals and a hint.
Placement place_groups(const std::vector<Host>& hosts, const PlacementRequest& request,
                       std::uint64_t epoch);

/// One group of `rank_count` ranks, or of every slot.
Placement place_ranks(const std::vector<Host>& hosts, std::optional<int> rank_count,
                      std::uint64_t epoch);

/// Makes the one node of `placement` node `node_rank` of `nodes` that all have as many ranks.
/// Errors:  Error{usage} when the placement has several nodes or programs.
void make_part(Placement& placement, int node_rank, int nodes, std::string run_id);

/// Leaves of `placement` node `node_rank` alone, as a part of the whole.
/// Errors:  Error{usage}: no such node, several programs, or ranks that go round the hosts.
void cut_part(Placement& placement, int node_rank);

/// The table of --dry-run and the array of --dry-run=json (rank, node, node_rank, local_rank,
/// slot, role); roles stand in the table when there are several programs.
std::string placement_table(const Placement& placement);
std::string placement_json(const Placement& placement);

}  // namespace ds::launcher
