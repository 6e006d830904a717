// `dsrunner average`: writes the mean of several checkpoints' weights.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command. `words`: CHECKPOINT... --out DIR [--last N]. Prints one line; returns 0.
/// Errors: Error{usage}; as average_checkpoints().
int run_average(const std::vector<std::string>& words);

}  // namespace ds
