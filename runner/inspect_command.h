// `dsrunner inspect`: shows and verifies one checkpoint, or compares two.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command. `words`: CHECKPOINT [CHECKPOINT] [--no-verify] [--all] [--json]. Prints to
/// standard output. Returns 0 if the checkpoint is intact or both are equal, else 1. Errors:
/// Error{usage}; Error{config} if a path is not a checkpoint.
int run_inspect(const std::vector<std::string>& words);

}  // namespace ds
