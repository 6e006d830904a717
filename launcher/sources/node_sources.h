// Host lists of operators, schedulers and other launchers, for a launcher without named hosts.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

/// Variable with the user's default hostfile, for jobs, `exec` and `doctor`.
inline constexpr const char* kHostfileVariable = "DSLAUNCH_HOSTFILE";

struct NodeList {
  std::vector<Host> hosts;
  std::string source;  // "/etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)"
  bool slurm = false;  // the hosts are the nodes of the allocation of this process
};

/// Returns the first list that exists, of: the files named by DSLAUNCH_HOSTFILE,
/// OMPI_MCA_orte_default_hostfile, PRTE_MCA_prte_default_hostfile, I_MPI_HYDRA_HOST_FILE,
/// HYDRA_HOST_FILE and DLTS_HOSTFILE; /job/hostfile, /etc/mpi/hostfile, /etc/edl/hostfile;
/// Volcano's lists, the group of a LeaderWorkerSet, Slurm's allocation. Returns nothing if none
/// exists; the job then runs on this machine. docs/finding_nodes.md has the table, and says when a
/// list counts. Errors:  Error{config} for a list that exists but cannot be used: unreadable,
/// empty, malformed, or of
///          peers that all run the same command. Such a list is never ignored.
std::optional<NodeList> find_node_list(const World& world);

/// Returns `hosts: 3 x 8 from /etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)`.
std::string describe(const NodeList& list);

}  // namespace ds::launcher
