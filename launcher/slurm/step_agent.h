// `dslaunch agent --join=stdin`: the agent that a step of srun runs on each node.
#pragma once

namespace ds::launcher {

/// Reads the lines of step_words.h from standard input, dials the root as node SLURMD_NODENAME, and
/// runs its agent. Returns 0 after the root reported the end: the root reports failures itself, and
/// srun complains about any other code. Errors:  Error{config} for wrong lines or a missing
/// SLURMD_NODENAME.
int run_step_agent();

}  // namespace ds::launcher
