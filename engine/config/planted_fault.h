// Parser of debug.non_finite: the steps that are made to fail, and the op that fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct PlantedFault {
  std::vector<std::int64_t> steps;  // from 1
  std::string op;                   // path of a forward op; empty: the loss is scaled by infinity
  friend bool operator==(const PlantedFault&, const PlantedFault&) = default;
};

/// Parses "3,7" or "5:block1.mlp.fc"; "" gives no steps. Returns nothing for any other text.
std::optional<PlantedFault> parse_planted_fault(std::string_view text);

}  // namespace ds
