// Texts of amounts: bytes, limits, times, cores and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value >= 9.95 || std::abs(value - std::round(value)) < 0.05;
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, kUnits[unit]);
}

std::string limit_text(std::uint64_t limit, bool bytes) {
  if (limit == kUnlimited) return "unlimited";
  return bytes ? bytes_text(limit) : std::to_string(limit);
}

std::string seconds_text(std::int64_t milliseconds) {
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string cores_text(const Facts& facts) {
  if (facts.quota_milli == 0 || facts.quota_milli >= 1000 * facts.cores)
    return std::to_string(facts.cores);
  return fmt::format("{:.3g} of {}", facts.quota_milli / 1000.0, facts.cores);
}

std::string gpus_text(const Facts& facts) {
  const int count = gpu_count(facts);
  if (count == 0) return "none";
  if (facts.gpus.empty()) return std::to_string(count);
  const std::string& name = facts.gpus.front().name;
  const bool one_kind = std::all_of(facts.gpus.begin(), facts.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.name == name; });
  return fmt::format("{} {}", count, one_kind ? name : "of several kinds");
}

}  // namespace ds::launcher::doctor
