#include "launcher/agent/memory_cgroup.h"

#include <charconv>
#include <vector>

#include "launcher/agent/proc_files.h"

namespace ds::launcher {
namespace {

/// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

/// Returns the path after "0::" (version 2) or "memory" (version 1) in /proc/self/cgroup. In a
/// container it may be the path on the host.
std::optional<std::string> cgroup_path(const std::string& text, bool version2) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool matches =
        version2 ? controllers == ",," : controllers.find(",memory,") != std::string::npos;
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Returns a cgroup and those above it: "/a/b", "/a", "".
std::vector<std::string> with_parents(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  std::vector<std::string> all = {path};
  while (!path.empty()) {
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    all.push_back(path);
  }
  return all;
}

std::optional<std::uint64_t> number_after(const std::string& text, const std::string& name) {
  std::size_t at = name.empty() ? 0 : text.find(name + " ");
  if (at == std::string::npos || (at > 0 && text[at - 1] != '\n')) return std::nullopt;
  if (!name.empty()) at += name.size() + 1;
  std::uint64_t number = 0;
  const char* const begin = text.data() + at;
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace

MemoryCgroup MemoryCgroup::find(const std::string& root) {
  struct Place {
    bool version2;
    const char* top;
    const char* events;
    const char* limit;
  };
  constexpr Place kPlaces[] = {
      {false, "/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes"},
      {true, "/sys/fs/cgroup", "memory.events", "memory.max"},
      {true, "/sys/fs/cgroup/unified", "memory.events", "memory.max"}};
  const std::string own = root.empty() ? read_proc("self/cgroup")
                                       : read_small_file((root + "/proc/self/cgroup").c_str());
  MemoryCgroup found;
  for (const Place& place : kPlaces) {
    const auto path = cgroup_path(own, place.version2);
    if (!path) continue;
    found.top_ = root + place.top;
    for (const std::string& level : with_parents(*path)) {
      found.folder_ = found.top_ + level;
      found.events_ = found.folder_ + "/" + place.events;
      found.limit_file_ = place.limit;
      if (found.kills()) return found;
    }
  }
  return {};
}

std::optional<std::uint64_t> MemoryCgroup::kills() const {
  if (events_.empty()) return std::nullopt;
  return number_after(read_small_file(events_.c_str()), "oom_kill");
}

std::optional<std::uint64_t> MemoryCgroup::limit() const {
  std::optional<std::uint64_t> smallest;
  if (events_.empty()) return smallest;
  for (const std::string& level : with_parents(folder_.substr(top_.size()))) {
    const std::string text = read_small_file((top_ + level + "/" + limit_file_).c_str());
    const auto limit = number_after(text, "");
    if (limit && *limit < kNoLimit && (!smallest || *limit < *smallest)) smallest = limit;
  }
  return smallest;
}

}  // namespace ds::launcher
