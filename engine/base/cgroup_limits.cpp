// Reads /proc/meminfo and the limits of cgroups v1 and v2.
#include "engine/base/cgroup_limits.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace ds {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Returns the value of `name` in a file of "name value ..." lines.
std::optional<std::uint64_t> value_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // missing, or "max"
}

std::uint64_t room_in(const std::string& folder, const char* limit_name, const char* usage_name,
                      const char* cache_name) {
  const auto limit = number_in(folder + "/" + limit_name);
  const auto usage = number_in(folder + "/" + usage_name);
  if (!limit || !usage) return kNoLimit;
  const std::uint64_t cache = value_of(folder + "/memory.stat", cache_name).value_or(0);
  const std::uint64_t held = *usage - std::min(cache, *usage);
  return *limit - std::min(held, *limit);
}

double quota_in(const std::string& folder) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double quota = 0, period = 0;
  std::ifstream version2(folder + "/cpu.max");
  if (version2 >> quota >> period) return period > 0 ? quota / period : kNone;  // "max": no limit
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"),
      period_file(folder + "/cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0)
    return quota / period;
  return kNone;
}

/// Calls look(folder) for this process's cgroup of `controller` (v1 or v2) and each one above it.
template <class Look>
void for_each_cgroup(const std::string& root, const std::string& controller, Look look) {
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (!names.empty() && ("," + names + ",").find("," + controller + ",") == std::string::npos)
      continue;
    const std::string mount = root + "/sys/fs/cgroup" + (names.empty() ? "" : "/" + controller);
    look(mount);
    for (std::string path = line.substr(second + 1); path.size() > 1;) {
      look(mount + path);
      path.resize(path.find_last_of('/'));
    }
  }
}

}  // namespace

std::size_t available_memory_bytes(const std::string& root) {
  std::uint64_t room = kNoLimit;
  if (const auto kib = value_of(root + "/proc/meminfo", "MemAvailable:")) room = *kib * 1024;
  for_each_cgroup(root, "memory", [&](const std::string& folder) {
    room = std::min(
        {room, room_in(folder, "memory.max", "memory.current", "inactive_file"),
         room_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")});
  });
  return static_cast<std::size_t>(room);
}

double cpu_quota(const std::string& root) {
  double quota = std::numeric_limits<double>::infinity();
  for_each_cgroup(root, "cpu",
                  [&](const std::string& folder) { quota = std::min(quota, quota_in(folder)); });
  return quota;
}

}  // namespace ds
