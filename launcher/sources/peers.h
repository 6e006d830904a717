// A pod, or any process that every node starts alike -> who its peers are, and which it is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// `4`, or `2:4`: from 2 to 4.
struct NodeCount {
  int least = 0;
  int most = 0;
  friend bool operator==(const NodeCount&, const NodeCount&) = default;
};
/// Errors:  Error{usage} that names `option`.
NodeCount parse_node_count(std::string_view option, std::string_view text);

/// What the command line says; all of it may be missing.
struct PeerWish {
  std::optional<std::string> peers{};  // --peers: 'gpt-{0..3}.gpt', 'gpt-[0-3].gpt', a list of such
  std::optional<NodeCount> nodes{};    // --nnodes
  std::optional<int> node_rank{};      // --node-rank
  std::optional<std::string> root{};   // name or address of index 0, where no peers are named
};

struct Peers {
  std::string substrate;  // for people: "Indexed Job", "JobSet", "LeaderWorkerSet", "--peers"
  /// By index, equal in all nodes of the job: what a peer is called, as `JoinHello::place` has it.
  std::vector<std::string> names;
  /// By index, what to look up or dial: the full name where it is known, so that one query finds
  /// it. Only that of index 0 needs to be found by others.
  std::vector<std::string> dial;
  int index = 0;
  int least = 0;           // so many are enough: --nnodes MIN:MAX; else all of them
  std::uint16_t port = 0;  // of the root, where the environment says one; else 0
  /// Equal in all nodes of one job, another one for another job and, where the environment tells
  /// them apart, for another attempt of it.
  std::string job;
  std::string line;  // as docs/finding_nodes.md shows it
};

/// Own index: --node-rank, then the place of the own name among --peers, then JOB_COMPLETION_INDEX,
/// LWS_WORKER_INDEX, PET_NODE_RANK, VC_TASK_INDEX, NODE_RANK, SLURM_NODEID, then the last number of
/// the host name. Names: --peers, else from the substrate and the own full name in /etc/hosts as
/// kubelet writes it. docs/finding_nodes.md has the table.
/// Errors:  Error{usage} for options that cannot be, Error{config} for an environment that cannot:
///          each with what was found, where, and what to do.
Peers find_peers(const World& world, const PeerWish& wish);

/// Names of `gpt-{0..3}.gpt,x[1-2],y`, in the order written; `{a,b}` lists words. Pure.
/// Errors:  Error{usage} with a caret at what is wrong; more than kMaxHosts names.
std::vector<std::string> expand_peers(std::string_view option, std::string_view text);

}  // namespace ds::launcher
