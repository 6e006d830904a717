// Spans of time as people type them: 10, 10s, 500ms, 2m, 1h.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace ds::launcher {

/// A whole number with a unit ms, s, m or h; without a unit it counts seconds. Empty when it is
/// anything else or longer than a year.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace ds::launcher
