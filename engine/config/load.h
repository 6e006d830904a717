// Loads a TrainConfig from a TOML file and overrides, with every default filled in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/entry.h"
#include "engine/config/train_config.h"

namespace ds {

struct LoadRequest {
  std::string path;
  std::vector<std::string> overrides;  // "zero.stage=3", applied in order; relative paths
                                       // start at the working directory
  std::int64_t world_size = 1;         // default of determinism.virtual_ranks
  std::int64_t most_ranks = 0;         // that an elastic job may get; 0: their number stays
};

/// Returns the config of the file with the overrides applied and every default filled in, after all
/// checks that need no file and no device. Errors: Error{config} with place and hint (all bad
/// entries in one error, then contradictions one by one); Error{usage} for an override that is not
/// key=value.
TrainConfig load_train_config(const LoadRequest& request);

/// Returns whether the file or an override gives `key` a value other than "auto". Errors: as
/// load_train_config().
bool gives_key(const LoadRequest& request, std::string_view key);

/// Returns a line about keys of a DeepSpeed configuration that were passed over; empty without one.
/// Errors: as load_train_config().
std::string load_note(const LoadRequest& request);

/// Returns the config of these entries. `source` names the file in errors about missing keys.
TrainConfig make_train_config(const std::vector<Entry>& entries, const std::string& source,
                              std::int64_t world_size, std::int64_t most_ranks = 0);

}  // namespace ds
