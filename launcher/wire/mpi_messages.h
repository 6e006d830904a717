// Messages between root and agent, and between an agent and its PMIx server, for the MPI libraries
// of ranks (docs/mpi.md). Part of messages.h.
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
  pmi1,  // PMI-1 over an inherited descriptor
  pmix,  // PMIx, by a server process beside the agent
  any    // both; PMIx only if the node can serve it
};
/// A node as PMIx names it.
struct MpiNode {
  std::string name{};
  std::vector<std::int32_t> ranks{};  // ascending
  friend bool operator==(const MpiNode&, const MpiNode&) = default;
};
/// A program of the job: consecutive ranks.
struct MpiApp {
  std::int32_t first_rank = 0;
  std::int32_t size = 0;
  friend bool operator==(const MpiApp&, const MpiApp&) = default;
};
struct MpiSpec {
  [[nodiscard]] bool has_pmi() const { return wire == MpiWire::pmi1 || wire == MpiWire::any; }
  [[nodiscard]] bool has_pmix() const { return wire == MpiWire::pmix || wire == MpiWire::any; }
  MpiWire wire = MpiWire::none;
  std::int32_t size = 0;          // ranks of the whole job
  std::string process_mapping{};  // the value of PMI_process_mapping; empty: not offered
  // Only for PMIx:
  std::string space{};  // the namespace; secret, because a client proves itself by naming it
  std::vector<MpiNode> nodes{};
  std::vector<MpiApp> apps{};
  std::vector<std::string> cpusets{};  // of the node's ranks, "0-3,8" or empty; set by its agent
  friend bool operator==(const MpiSpec&, const MpiSpec&) = default;
};

/// Completes a fence: the data that all its nodes have given. Much data comes in several frames.
/// A fence of one node carries no data.
struct FenceOut {
  std::string name{};
  bool last = true;          // the ranks go on
  std::uint64_t number = 0;  // of this fence among all of the job, from 1
  std::string data{};
  friend bool operator==(const FenceOut&, const FenceOut&) = default;
};

// Agent to root.

/// All ranks of the node that take part wait in a fence. Carries their data, in several frames if
/// it is much; data of a frame stays together in FenceOut. Answered by FenceOut.
struct FenceIn {
  std::string name{};                 // of the fences that are open at one time
  std::vector<std::int32_t> ranks{};  // that take part, of all nodes; empty: all of the job
  bool last = true;                   // no more data follows
  std::string data{};
  friend bool operator==(const FenceIn&, const FenceIn&) = default;
};
/// Some ranks of the node have waited in a fence of all ranks for others of the node, for a second
/// or more.
struct FenceWaits {
  std::vector<std::int32_t> missing{};  // ranks of the node that have not joined it; may be none
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

/// The MPI library of a rank has begun by PMI or PMIx. Only of jobs that offer both.
struct MpiInit {
  std::int32_t rank = 0;
  MpiWire wire = MpiWire::none;  // pmi1 or pmix
  friend bool operator==(const MpiInit&, const MpiInit&) = default;
};

/// A rank publishes names for others of the job, looks them up or withdraws them. Answered by
/// NameAnswer, unless the kind is `cancel`.
struct NameAsk {
  enum class Kind : std::uint8_t {
    publish,
    look_up,
    withdraw,  // no names: all of the rank
    cancel     // a look_up with the same id, which waits
  };
  std::int32_t rank = 0;
  std::uint64_t id = 0;  // of the request of the node's PMIx server; 0: of PMI, one for each rank
  Kind kind = Kind::publish;
  std::uint32_t wanted = 0;  // look_up: waits until so many names are there
  bool once = false;         // publish: names go with the first lookup
  KeyValues names{};         // and their values, if they are published
  friend bool operator==(const NameAsk&, const NameAsk&) = default;
};
/// Root to agent.
struct NameAnswer {
  enum class Status : std::uint8_t {
    done,     // a lookup also if names are not there
    exists,   // a name is published already; none of the request was
    unknown,  // no such name to withdraw
    full      // there is no room for more names, or for all that were found
  };
  struct Found {
    std::string name{}, value{};
    std::int32_t rank = 0;  // that has published it
    friend bool operator==(const Found&, const Found&) = default;
  };
  std::int32_t rank = 0;  // that has asked
  std::uint64_t id = 0;
  Status status = Status::done;
  std::vector<Found> found{};
  friend bool operator==(const NameAnswer&, const NameAnswer&) = default;
};

// Between PMIx servers, through their agents and the root.

/// A rank of one node wants what a rank of another node has published for all.
struct ModexAsk {
  std::int32_t rank = 0;  // whose data is wanted; its node gets the request
  std::int32_t node = 0;  // that asks; set by the root
  std::uint64_t id = 0;   // of the request on that node
  friend bool operator==(const ModexAsk&, const ModexAsk&) = default;
};
struct ModexAnswer {
  std::int32_t node = 0;  // that has asked
  std::uint64_t id = 0;
  std::int32_t status = 0;  // of PMIx; 0: success
  std::string data{};
  friend bool operator==(const ModexAnswer&, const ModexAnswer&) = default;
};
/// An event for the ranks of all other nodes, as PMIx packs it.
struct PmixNotice {
  std::string data{};
  friend bool operator==(const PmixNotice&, const PmixNotice&) = default;
};

// Between a PMIx server and its agent, on the same machine. The server also sends Problem and
// MpiFailed.

/// The server serves; ranks may start with these variables, in the order of Spec::ranks.
struct PmixReady {
  struct Rank {
    KeyValues env{};
    friend bool operator==(const Rank&, const Rank&) = default;
  };
  std::vector<Rank> ranks{};
  friend bool operator==(const PmixReady&, const PmixReady&) = default;
};
struct PmixRank {
  enum class Step : std::uint8_t {
    connected,  // has called MPI_Init
    finalized,  // has called MPI_Finalize
    ended       // its process has exited with 0; the agent tells the server
  };
  std::int32_t rank = 0;
  Step step = Step::connected;
  friend bool operator==(const PmixRank&, const PmixRank&) = default;
};
/// A line for the user.
struct PmixLine {
  std::int32_t rank = 0;
  std::string text{};
  friend bool operator==(const PmixLine&, const PmixLine&) = default;
};

}  // namespace ds::launcher
