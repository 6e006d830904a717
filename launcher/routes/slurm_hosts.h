// Whether a job's hosts are the nodes of a Slurm allocation, and whether srun starts its agents.
#pragma once

#include <optional>

#include "launcher/cli/options.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// The allocation that this process is in, where nobody has named other hosts. A rank of a job of
/// ours is in none: what it starts, it starts where it is.
/// Errors:  Error{config} of find_allocation.
std::optional<Allocation> allocation_as_hosts(const Options& options);

/// The allocation in which srun starts the agents: with --transport slurm, and by default where
/// its nodes are the hosts.
/// Errors:  Error{config}: --transport slurm outside of an allocation.
std::optional<Allocation> allocation_by_srun(const Options& options);

}  // namespace ds::launcher
