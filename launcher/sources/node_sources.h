// A launcher whose hosts nobody named -> those that an operator, a scheduler or another launcher's
// configuration names. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hostfile.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

struct NodeList {
  std::vector<Host> hosts;
  std::string source;  // "/etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)"
  bool slurm = false;  // they are the nodes of the allocation that this process is in
};

/// The first of: the files that OMPI_MCA_orte_default_hostfile, PRTE_MCA_prte_default_hostfile,
/// I_MPI_HYDRA_HOST_FILE, HYDRA_HOST_FILE and DLTS_HOSTFILE name; /job/hostfile, /etc/mpi/hostfile,
/// /etc/edl/hostfile; Volcano's lists, the group of a LeaderWorkerSet, Slurm's allocation. Nothing
/// where none is there: this machine alone. docs/finding_nodes.md has the table, and says when a
/// list counts. Errors:  Error{config} for a list that is there and cannot be used: unreadable,
/// empty,
///          malformed, or of peers that all run the same command. It is never left out silently.
std::optional<NodeList> find_node_list(const World& world);

/// `hosts: 3 x 8 from /etc/mpi/hostfile (OMPI_MCA_orte_default_hostfile)`.
std::string describe(const NodeList& list);

}  // namespace ds::launcher
