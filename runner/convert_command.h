// `dsrunner convert`: prints a DeepSpeed configuration as train.toml.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command. `words`: JSON [--hidden N] [--json]. Prints to standard output; returns 0.
/// Errors: Error{usage}; as read_deepspeed().
int run_convert(const std::vector<std::string>& words);

}  // namespace ds
