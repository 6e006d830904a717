// `dsrunner inspect`: one checkpoint shown and verified, or two compared.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// `words`: CHECKPOINT [CHECKPOINT] [--no-verify] [--all] [--json]. Prints to standard output.
/// Returns 0: whole, or equal; 1: broken, or different. Errors: Error{usage}; Error{config}: not a
/// checkpoint.
int run_inspect(const std::vector<std::string>& words);

}  // namespace ds
