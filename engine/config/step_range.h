// StepRange: the steps that log.trace names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ds {

/// Steps from 1, both included.
struct StepRange {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// Parses "20" or "20-22". Returns nothing for any other text.
std::optional<StepRange> parse_step_range(std::string_view text);

}  // namespace ds
