// Options of a training: where it continues. Each option sets one key of train.toml.
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

/// Appends the options as `key=value` words to `overrides`.
/// Errors:  Error{usage} if both an option and its key are given.
void add_overrides(const TrainOptions& options, std::vector<std::string>& overrides);

/// Refuses these options for a job that runs a command.   Errors:  Error{usage}.
void refuse_train_options(const TrainOptions& options);

}  // namespace ds::launcher
