// Number and unit of a duration.
#include "launcher/cli/duration.h"

#include <charconv>
#include <cstdint>

namespace ds::launcher {
namespace {

constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

std::int64_t milliseconds_of(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit.empty() || unit == "s") return 1000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  return 0;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::int64_t unit =
      milliseconds_of(text.substr(static_cast<std::size_t>(stop - text.data())));
  if (unit == 0 || number > kLongest.count() / unit) return std::nullopt;
  return std::chrono::milliseconds(number * unit);
}

}  // namespace ds::launcher
