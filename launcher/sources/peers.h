// Peers of a pod, or of any process that every node starts alike: their names and own index. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// Number of nodes: `4`, or `2:4` for 2 to 4.
struct NodeCount {
  int least = 0;
  int most = 0;
  friend bool operator==(const NodeCount&, const NodeCount&) = default;
};
/// Parses a number of nodes.   Errors:  Error{usage} naming `option`.
NodeCount parse_node_count(std::string_view option, std::string_view text);

/// Options of the command line; all are optional.
struct PeerRequest {
  std::optional<std::string> peers{};  // --peers: 'gpt-{0..3}.gpt', 'gpt-[0-3].gpt', a list of such
  std::optional<NodeCount> nodes{};    // --nnodes
  std::optional<NodeCount> range{};    // --nodes MIN:MAX, where nothing else gives the number
  std::optional<int> node_rank{};      // --node-rank
  std::optional<std::string> root{};   // name or address of index 0, if no peers are named
  bool only_launches = false;          // this process is not one of the peers
};

struct Peers {
  std::string substrate;  // for messages: "Indexed Job", "JobSet", "LeaderWorkerSet", "--peers"
  /// Names by index, equal on all nodes of the job, as in `JoinHello::place`.
  std::vector<std::string> names;
  /// Names to resolve or dial, by index: the full name if known, so that one query finds it. Only
  /// the name of index 0 must be resolvable by others.
  std::vector<std::string> dial;
  int index = 0;           // of this process; 0 if it only launches
  int least = 0;           // minimum number of nodes (--nodes or --nnodes MIN:MAX), otherwise all
  std::uint16_t port = 0;  // port of the root from the environment; 0: not set
  /// Identity of the job: equal on all its nodes, different for another job and, if the environment
  /// distinguishes them, for another attempt.
  std::string job;
  std::string line;  // line for the user, as in docs/finding_nodes.md
};

/// Finds the peers. Sources of the own index: --node-rank, the own name among --peers,
/// JOB_COMPLETION_INDEX, LWS_WORKER_INDEX, PET_NODE_RANK, VC_TASK_INDEX, NODE_RANK, SLURM_NODEID,
/// the last number of the host name. Sources of names: --peers, else the substrate and the own
/// full name, as kubelet writes it into /etc/hosts. docs/finding_nodes.md has the table. Errors:
/// Error{usage} for impossible options, Error{config} for a contradictory environment; each
///          with what was found, where, and what to do.
Peers find_peers(const World& world, const PeerRequest& request);

/// Expands `gpt-{0..3}.gpt,x[1-2],y` in the written order; `{a,b}` lists words. Pure.
/// Errors:  Error{usage} with a caret at the problem; more than kMaxHosts names.
std::vector<std::string> expand_peers(std::string_view option, std::string_view text);

}  // namespace ds::launcher
