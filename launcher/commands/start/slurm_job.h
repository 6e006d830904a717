// Job in a Slurm allocation: srun starts the agents, which dial this process.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "launcher/commands/start/job_request.h"
#include "launcher/slurm/allocation.h"

namespace ds::launcher {

/// Returns the time until the end of the Slurm job, if Slurm tells it (SLURM_JOB_END_TIME, from
/// 23.02 on).
std::optional<std::chrono::milliseconds> slurm_time_left();

/// Runs the job on `hosts`, all of them nodes of `allocation`, and returns dslaunch's exit code.
/// Errors:  as run_joined_job; Error{config} if a host is not a node of the allocation or srun
/// cannot
///          be run.
int run_slurm_job(const Options& options, const Allocation& allocation, std::vector<Host> hosts,
                  JobParts parts);

}  // namespace ds::launcher
