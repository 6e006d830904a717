// Parser for durations such as 10, 10s, 500ms, 2m and 1h.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace ds::launcher {

/// Parses an integer with an optional unit: ms, s (default), m or h. Returns nothing if the text is
/// anything else or the duration is longer than a year.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace ds::launcher
