// Formats and parses byte counts, large counts and durations.
#include "engine/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace ds {

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  while (std::abs(value) >= 1023.95) {  // would be printed as 1024.0
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.ends_with("iB")) {
    unit.remove_suffix(2);
    if (unit.empty()) return std::nullopt;
  }
  constexpr std::string_view kPrefixes = "KMGTPE";
  if (unit.size() > 1) return std::nullopt;
  if (!unit.empty()) {
    const std::size_t prefix = kPrefixes.find(unit.front() == 'k' ? 'K' : unit.front());
    if (prefix == std::string_view::npos) return std::nullopt;
    number = std::ldexp(number, 10 * static_cast<int>(prefix + 1));
  }
  if (!(number >= 1) || number >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(number);
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

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
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
