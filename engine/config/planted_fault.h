// debug.non_finite in words: which steps go wrong, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct PlantedFault {
  std::vector<std::int64_t> steps;  // From 1.
  std::string op;                   // Path of a forward op; empty: the scale of the loss.
  friend bool operator==(const PlantedFault&, const PlantedFault&) = default;
};

/// "3,7" or "5:block1.mlp.fc"; "" gives no steps. Nothing when it is neither.
std::optional<PlantedFault> parse_planted_fault(std::string_view text);

}  // namespace ds
