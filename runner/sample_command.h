// `dsrunner sample`: continues prompts, or fills their masks, with the model of a checkpoint or a
// Hugging Face folder.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command. `words`: CHECKPOINT|FOLDER with options. Prints the continuations (of a model
/// of masked tokens: the prompts with their masks filled) to standard output, and one line with
/// times to standard error; returns 0. Errors: Error{usage}: no prompt, a
/// token beyond the vocabulary, text for a model without bytes, a text longer than the model's
/// positions; as open_model() and generate().
int run_sample(const std::vector<std::string>& words);

}  // namespace ds
