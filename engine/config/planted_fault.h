// Parsers of debug.non_finite (the steps that are made to fail, and the op that fails) and of
// debug.slow_data (the rank whose data comes late).
#pragma once

#include <chrono>
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

struct PlantedDelay {
  int rank = -1;                     // -1: none
  std::chrono::milliseconds span{};  // of each step
  friend bool operator==(const PlantedDelay&, const PlantedDelay&) = default;
};

/// Parses "1:20", a rank and milliseconds; "" gives no rank. Returns nothing for any other text.
std::optional<PlantedDelay> parse_planted_delay(std::string_view text);

}  // namespace ds
