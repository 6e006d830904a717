// EvalWords: the words of `eval`, sorted into files, sets and overrides. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/base/tool_options.h"
#include "engine/config/train_config.h"

namespace ds {

struct EvalWords {
  std::string model{};                   // CHECKPOINT|FOLDER
  std::vector<NamedFiles> sets{};        // by name; of files without a name: one, named ""
  std::vector<std::string> overrides{};  // key=value
};

/// Errors: Error{usage}: no model; files with and without names; a set given twice that has a bad
/// name.
EvalWords eval_words(const ToolWords& words);

/// Returns the data.format that the endings of all files have. Errors: Error{usage}: an ending that
/// has none, or two formats.
std::string format_of(const std::vector<NamedFiles>& sets);

}  // namespace ds
