// Inside Slurm: a job in an allocation, where srun starts the agents, which dial this process; and
// a rank of an srun step: `srun -n 4 dslaunch -- CMD` starts the ranks, and each becomes CMD.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "engine/base/slurm_rank.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// Returns the time until the end of the Slurm job, if Slurm tells it (SLURM_JOB_END_TIME, from
/// 23.02 on).
std::optional<std::chrono::milliseconds> slurm_time_left();

/// Returns whether the options let nodes of other allocations join.
bool opens_job(const PodOptions& pods);

/// Runs the job on `hosts`, all of them nodes of `allocation`, and returns dslaunch's exit code.
/// Errors:  as run_joined_job; Error{config} if a host is not a node of the allocation or srun
/// cannot
///          be run.
int run_slurm_job(const Options& options, const Allocation& allocation, std::vector<Host> hosts,
                  JobParts parts);

/// Returns the place of this process among the tasks of an srun step. Returns nothing outside a
/// step and inside a rank of another dslaunch job. Errors:  Error{config} of find_slurm_rank.
std::optional<SlurmRank> own_step_place();

/// Replaces this process by the program, with the environment of the rank `place`.
/// Errors:  Error{usage} for options that only a launcher of all ranks can honor. Returns an exit
///          code if the program cannot be run.
int exec_step_rank(const Options& options, const SlurmRank& place);

}  // namespace ds::launcher
