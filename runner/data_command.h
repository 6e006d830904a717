// `dsrunner data`: makes token files and tokenizers of texts, and shows what a step reads.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command with its words. Errors: Error{usage}; as load_train_config(), open_data().
int run_data(const std::vector<std::string>& words);

}  // namespace ds
