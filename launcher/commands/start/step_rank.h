// Rank of an srun step: `srun -n 4 dslaunch -- CMD` starts the ranks, and each becomes CMD.
#pragma once

#include <optional>

#include "engine/base/slurm_rank.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

/// Returns the place of this process among the tasks of an srun step. Returns nothing outside a
/// step and inside a rank of another dslaunch job. Errors:  Error{config} of find_slurm_rank.
std::optional<SlurmRank> own_step_place();

/// Replaces this process by the program, with the environment of the rank `place`.
/// Errors:  Error{usage} for options that only a launcher of all ranks can honor. Returns an exit
///          code if the program cannot be run.
int exec_step_rank(const Options& options, const SlurmRank& place);

}  // namespace ds::launcher
