// Slurm allocation of a job, from options and environment; Slurm itself is not asked.
#include "launcher/commands/start/slurm_hosts.h"

#include "engine/base/error.h"
#include "launcher/cli/forward_env.h"
#include "launcher/commands/start/find_hosts.h"

namespace ds::launcher {

std::optional<Allocation> allocation_as_hosts(const Options& options) {
  // Check this first: without an allocation the lists need not be read again.
  if (options.hosts.part || !in_allocation(own_variable)) return std::nullopt;
  const std::optional<NodeList> list = found_list(options);
  if (!list || !list->slurm) return std::nullopt;
  return find_allocation(own_variable);
}

std::optional<Allocation> allocation_by_srun(const Options& options) {
  if (options.reach.transport == TransportChoice::automatic) return allocation_as_hosts(options);
  if (options.reach.transport != TransportChoice::slurm) return std::nullopt;
  std::optional<Allocation> allocation = find_allocation(own_variable);
  if (!allocation)
    throw Error(ErrorKind::config,
                "--transport slurm: not inside a Slurm allocation (SLURM_JOB_ID is not set)",
                "run it inside salloc or sbatch, for example: salloc -N 4 --ntasks-per-node=2 "
                "dslaunch ...");
  return allocation;
}

}  // namespace ds::launcher
