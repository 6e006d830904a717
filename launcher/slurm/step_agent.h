// `dslaunch agent --join=stdin`: what a step of srun runs on each node.
#pragma once

namespace ds::launcher {

/// Reads the lines of step_words.h from standard input, dials the root as the node that
/// SLURMD_NODENAME names, and runs its agent. Returns 0 once the root has told the end: the verdict
/// is its own to tell, and srun would complain of any other code.
/// Errors:  Error{config}: the lines, or no SLURMD_NODENAME.
int run_step_agent();

}  // namespace ds::launcher
