// Prefixes and clocks.
#include "engine/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace ds {

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (std::abs(value) >= 1023.95) {  // What would be printed as 1024.0.
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_count(double count) {
  constexpr std::array<std::string_view, 6> kUnits{"k", "M", "G", "T", "P", "E"};
  if (!(std::abs(count) >= 999.5)) return fmt::format("{:.0f}", count);
  double value = count / 1000.0;
  std::size_t unit = 0;
  while (std::abs(value) >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e9) return "?";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace ds
