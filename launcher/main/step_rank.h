// `srun -n 4 dslaunch -- CMD`: Slurm starts the ranks, and each of them becomes CMD.
#pragma once

#include <optional>

#include "launcher/cli/options.h"
#include "runner/slurm_rank.h"

namespace ds::launcher {

/// This process's place among the tasks of a step that `srun` started; nothing outside of one, and
/// within a rank of another job of ours.
/// Errors:  Error{config} of find_slurm_rank.
std::optional<SlurmRank> own_step_place();

/// Becomes the program, with the environment of the rank `place`.
/// Errors:  Error{usage} for options that ask for what only a launcher of all ranks does; an exit
///          code where the program cannot be run.
int exec_step_rank(const Options& options, const SlurmRank& place);

}  // namespace ds::launcher
