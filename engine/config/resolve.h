// Fills the defaults of a TrainConfig and finds contradictions between keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/config/entry.h"
#include "engine/config/train_config.h"

namespace ds {

/// The places of the given keys, for errors. `source` names the file when a key is missing.
struct GivenKeys {
  std::string source;
  std::map<std::string, Place, std::less<>> places;

  /// Returns an Error{config} at the first of `keys` that was given, else about the file.
  [[nodiscard]] Error error(std::initializer_list<std::string_view> keys, std::string_view what,
                            std::string hint = {}) const;
};

/// Numbers of ranks that decide defaults.
struct JobRanks {
  std::int64_t now = 1;
  std::int64_t most = 0;  // that an elastic job may get; 0: their number does not change
};

/// Replaces every 0 that means "default". Errors: Error{config} for the first contradiction.
void resolve(TrainConfig& config, const GivenKeys& given, const JobRanks& ranks);

}  // namespace ds
