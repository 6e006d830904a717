// `dsrunner export`: a checkpoint's weights for other programs.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// `words`: CHECKPOINT OUT [--format hf] [--dtype T] [--shard-size SIZE] [--vocab N]. Prints what
/// was written; returns 0. Errors: Error{usage}; as export_hugging_face().
int run_export(const std::vector<std::string>& words);

}  // namespace ds
