// Messages between root and agent for the MPI libraries of ranks (docs/mpi.md). Part of messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ds::launcher {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// Root to agent.

/// How the MPI libraries of a node's ranks find each other (docs/mpi.md).
enum class MpiWire : std::uint8_t {
  none,  // they do not; ranks get no descriptor
  pmi1   // PMI-1 over an inherited descriptor
};
struct MpiSpec {
  MpiWire wire = MpiWire::none;
  std::int32_t size = 0;          // ranks of the whole job
  std::string process_mapping{};  // the value of PMI_process_mapping; empty: not offered
  friend bool operator==(const MpiSpec&, const MpiSpec&) = default;
};

/// Completes an MPI fence: the pairs that ranks of all other nodes have put before it. Many pairs
/// come in several frames.
struct FenceOut {
  bool last = true;  // the ranks of the node go on
  KeyValues pairs{};
  friend bool operator==(const FenceOut&, const FenceOut&) = default;
};

// Agent to root.

/// All ranks of the node wait in an MPI fence. Carries the pairs that they have put since the last
/// one, in several frames if there are many. Answered by FenceOut.
struct FenceIn {
  bool last = true;  // no more pairs follow
  KeyValues pairs{};
  friend bool operator==(const FenceIn&, const FenceIn&) = default;
};
/// Some ranks of the node have waited in an MPI fence for others of the node, for a second or more.
struct FenceWaits {
  std::vector<std::int32_t> missing{};  // ranks of the node that have not joined it
  friend bool operator==(const FenceWaits&, const FenceWaits&) = default;
};
/// The MPI library of a rank ends the job: it has called abort, or broken the protocol.
struct MpiFailed {
  std::int32_t rank = 0;
  std::int32_t code = 1;   // for the exit code of the job
  std::string text{};      // "called MPI_Abort(3)", follows the name of the rank
  std::uint64_t time = 0;  // on the agent's steady clock
  friend bool operator==(const MpiFailed&, const MpiFailed&) = default;
};

}  // namespace ds::launcher
