// `dsrunner eval`: the loss of a checkpoint or a Hugging Face folder on sets of data.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command with its words. Prints the loss, perplexity and bits per byte of each set to
/// standard output; returns 0. Errors: as eval_setup() and open_validation(); Error{config}: a set
/// has no target that counts.
int run_eval(const std::vector<std::string>& words);

}  // namespace ds
