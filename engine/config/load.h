// From a TOML file and overrides to a TrainConfig with no open question left.
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
  std::vector<std::string> overrides;  // "zero.stage=3", applied in order; paths in them start at
                                       // the working directory.
  std::int64_t world_size = 1;         // The default of determinism.virtual_ranks.
};

/// Reads, applies the overrides, fills every default and checks everything that needs no file or
/// device. Errors: Error{config} with place and hint (every bad entry is listed, then
/// contradictions one by one);
///         Error{usage} for an override that is not key=value.
TrainConfig load_train_config(const LoadRequest& request);

/// Whether the file or an override gives `key`, and not as "auto". Errors: as load_train_config().
bool gives_key(const LoadRequest& request, std::string_view key);

/// The same from entries. `source` names the file in errors about keys that are missing.
TrainConfig make_train_config(const std::vector<Entry>& entries, const std::string& source,
                              std::int64_t world_size);

}  // namespace ds
