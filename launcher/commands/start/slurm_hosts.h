// Slurm allocation of a job: whether its nodes are the hosts, and whether srun starts the agents.
#pragma once

#include <optional>

#include "launcher/cli/options.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// Returns the allocation of this process if the options name no other hosts. Returns nothing
/// inside a rank of a dslaunch job, which starts ranks on its own machine. Errors:  Error{config}
/// of find_allocation.
std::optional<Allocation> allocation_as_hosts(const Options& options);

/// Returns the allocation in which srun starts the agents: with --transport slurm, and by default
/// if its nodes are the hosts. Errors:  Error{config} for --transport slurm outside an allocation.
std::optional<Allocation> allocation_by_srun(const Options& options);

}  // namespace ds::launcher
