// The environment that every rank gets (ARCHITECTURE.md, "Environment contract"). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/placement.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Programs that find such variables believe that the launcher of that name started them.
struct RankFamilies {
  bool openmpi = false;
  bool mpich = false;
  bool horovod = false;
  friend bool operator==(const RankFamilies&, const RankFamilies&) = default;
};

/// Returns one rank's place by these names. Pure.
EnvList family_env(const Placement& placement, int rank, const RankFamilies& families);

/// Returns one rank's place for its MPI library. The agent adds PMI_FD. Pure.
EnvList pmi_env(const Placement& placement, int rank);

/// What the whole job has in common.
struct JobIdentity {
  std::uint64_t id = 0;
  std::string key{};        // 64 hexadecimal digits
  std::string mpi_space{};  // of PMIx: a name that others cannot guess
  std::string run_id{};     // name that the user gave the job; empty: none
  int live_columns = 0;     // for a live line of rank 0; 0: none is drawn
  std::chrono::milliseconds grace{10'000};  // between TERM and KILL
};

/// What the launcher knows of a node when it sends the Spec.
struct NodeFacts {
  std::uint32_t cores = 1;        // by affinity
  std::uint32_t quota_milli = 0;  // cgroup quota in thousandths of a core; 0: none
  bool local = false;             // its ranks inherit the launcher's own environment
  std::string interface {};       // of --iface; empty: any
  bool bound = false;             // OpenMP counts the processors to which its rank is bound
};

/// Returns the variables for one rank's place in the job, for Spec::ranks.
EnvList rank_place_env(const Placement& placement, int rank);

/// What the user's environment and options give to ranks.
struct JobEnvironment {
  EnvList given{};  // to every rank
  EnvList sent{};   // of the launcher's own environment, to ranks of other nodes
  /// Ranks of this machine get all of the launcher's own environment, or only this.
  std::optional<EnvList> here{};
  std::vector<std::string> own_names{};  // of all variables of the launcher
  RankFamilies families{};
};

/// Returns the variables of all ranks of a node, for Spec::env: the launcher's that it does not
/// inherit, defaults that the user has not set, the given ones, and the job's own.
EnvList node_env(const Placement& placement, int node, const JobIdentity& job,
                 const NodeFacts& facts, const JobEnvironment& user);

/// Returns cores by affinity and quota, divided by ranks; at least 1.
int threads_per_rank(const NodeFacts& facts, int ranks);

/// Returns the address where ranks find rank 0. `root_side`: the launcher's source address towards
/// another node; empty: none. `first_node`: addresses of node 0 from its agent; the first is the
/// one by which the launcher reached it.
std::string master_address(const Placement& placement, const std::vector<bool>& node_is_local,
                           const std::vector<std::string>& first_node,
                           const std::string& root_side);

/// Formats an id as 16 hexadecimal digits.
std::string job_id_text(std::uint64_t id);

}  // namespace ds::launcher
