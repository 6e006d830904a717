// Reading /proc/meminfo and the memory files of cgroups.
#include "engine/device/cpu/memory_limits.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace ds {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// "name value ..." lines: the value of `name`.
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

/// Smallest room from `path` up to the root of the hierarchy mounted at `mount`.
template <class Room>
std::uint64_t smallest_room(const std::string& mount, std::string path, Room room) {
  std::uint64_t smallest = room(mount);
  while (path.size() > 1) {
    smallest = std::min(smallest, room(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return smallest;
}

}  // namespace

std::size_t available_memory_bytes(const std::string& root) {
  std::uint64_t room = kNoLimit;
  if (const auto kib = value_of(root + "/proc/meminfo", "MemAvailable:")) room = *kib * 1024;
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (names.empty()) {
      room = std::min(room, smallest_room(root + "/sys/fs/cgroup", path, [](const std::string& at) {
                        return room_in(at, "memory.max", "memory.current", "inactive_file");
                      }));
    } else if (("," + names + ",").find(",memory,") != std::string::npos) {
      room = std::min(
          room, smallest_room(root + "/sys/fs/cgroup/memory", path, [](const std::string& at) {
            return room_in(at, "memory.limit_in_bytes", "memory.usage_in_bytes",
                           "total_inactive_file");
          }));
    }
  }
  return static_cast<std::size_t>(room);
}

}  // namespace ds
