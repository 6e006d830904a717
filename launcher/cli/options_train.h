// Options: where a training goes on. Words for keys of train.toml.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"

namespace ds::launcher {

struct TrainOptions {
  std::optional<std::string> resume{};  // auto, never or a path
  std::optional<std::string> load{};    // all or weights
};

std::span<const OptionDef<TrainOptions>> train_options();

/// The same as `key=value` words, appended to those of the command line.
/// Errors:  Error{usage} where both an option and its key are given.
void add_overrides(const TrainOptions& options, std::vector<std::string>& overrides);

/// For a job that runs a command.   Errors:  Error{usage} where one of them is given.
void refuse_train_options(const TrainOptions& options);

}  // namespace ds::launcher
