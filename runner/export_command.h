// `dsrunner export`: writes a checkpoint's weights in a format of other programs.
#pragma once

#include <string>
#include <vector>

namespace ds {

/// Runs the command. `words`: CHECKPOINT OUT [--format hf] [--dtype T] [--shard-size SIZE]
/// [--vocab N]. Prints a summary; returns 0. Errors: Error{usage}; as export_hugging_face().
int run_export(const std::vector<std::string>& words);

}  // namespace ds
