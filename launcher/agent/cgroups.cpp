// Cgroups of this node: OOM kills and limits, and a cgroup for each rank.
#include "launcher/agent/cgroups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "engine/base/split.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kCgroupPrefix = "dslaunch-";
/// Version 1 writes "no limit" as the largest multiple of a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

constexpr std::string_view kVersion2;  // its line has no controllers

/// Returns the path of this process's cgroup from the line "ID:CONTROLLERS:PATH" of
/// /proc/self/cgroup: kVersion2, or that of a controller of version 1. In a container it may be the
/// path on the host.
std::optional<std::string> own_path(const std::string& root, std::string_view controller) {
  const std::string text = root.empty() ? read_proc("self/cgroup")
                                        : read_small_file((root + "/proc/self/cgroup").c_str());
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::vector<std::string_view> controllers =
        split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::count(controllers, controller) > 0)
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// Returns a cgroup and those above it: "/a/b", "/a", "".
std::vector<std::string> with_parents(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  std::vector<std::string> all = {path};
  while (!path.empty()) {
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    all.push_back(path);
  }
  return all;
}

/// Returns the number at the start of `text`.
std::optional<std::uint64_t> number_at(std::string_view text) {
  std::uint64_t number = 0;
  const bool good =
      std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
  return good ? std::optional(number) : std::nullopt;
}

/// Returns the cookie in the name of a folder "dslaunch-COOKIE-EPOCH.RANK".
std::optional<Cookie> cookie_of(std::string_view name) {
  if (!name.starts_with(kCgroupPrefix)) return std::nullopt;
  name.remove_prefix(kCgroupPrefix.size());
  return Cookie::parse(name.substr(0, name.rfind('-')));
}

/// Returns true for "max", "max 100000", or a missing file.
bool is_unlimited(const std::string& file) {
  const std::string text = read_small_file(file.c_str());
  return text.empty() || text.starts_with("max");
}

bool is_usable(const std::string& folder) {
  const auto writable = [&](const std::string& path) {
    return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  };
  return writable(folder) && writable(folder + "/cgroup.procs") &&
         is_unlimited(folder + "/memory.max") && is_unlimited(folder + "/cpu.max");
}

UniqueFd open_cgroup(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

MemoryCgroup MemoryCgroup::find(const std::string& root) {
  struct Place {
    std::string_view controller;
    const char* top;
    const char* events;
    const char* limit;
  };
  constexpr Place kPlaces[] = {
      {"memory", "/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes"},
      {kVersion2, "/sys/fs/cgroup", "memory.events", "memory.max"},
      {kVersion2, "/sys/fs/cgroup/unified", "memory.events", "memory.max"}};
  MemoryCgroup found;
  for (const Place& place : kPlaces) {
    const auto path = own_path(root, place.controller);
    if (!path) continue;
    found.top_ = root + place.top;
    found.limit_file_ = place.limit;
    for (const std::string& level : with_parents(*path)) {
      found.path_ = level;
      found.events_ = found.top_ + level + "/" + place.events;
      if (found.kills()) return found;
    }
  }
  return {};
}

std::optional<std::uint64_t> MemoryCgroup::kills() const {
  constexpr std::string_view kName = "oom_kill ";
  if (events_.empty()) return std::nullopt;
  const std::string text = read_small_file(events_.c_str());
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(kName)) return number_at(line.substr(kName.size()));
  return std::nullopt;
}

std::optional<std::uint64_t> MemoryCgroup::limit() const {
  std::optional<std::uint64_t> smallest;
  if (events_.empty()) return smallest;
  for (const std::string& level : with_parents(path_)) {
    const auto limit = number_at(first_line_of(top_ + level + "/" + limit_file_));
    if (limit && *limit < kNoLimit && (!smallest || *limit < *smallest)) smallest = limit;
  }
  return smallest;
}

void kill_cgroup(int folder) {
  if (folder < 0) return;
  const UniqueFd file(::openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "1", 1);
}

void RankCgroup::remove() {
  if (!path_.empty()) ::rmdir(path_.c_str());
  path_.clear();
  folder_.reset();
}

CgroupPlace CgroupPlace::find(const std::string& root) {
  CgroupPlace place;
  const auto own = own_path(root, kVersion2);
  if (!own) return place;
  for (const char* top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::string folder = root + top + (*own == "/" ? "" : *own);
    // Only version 2 has this file.
    if (::access((folder + "/cgroup.controllers").c_str(), F_OK) != 0) continue;
    if (is_usable(folder)) place.path_ = std::move(folder);
    return place;
  }
  return place;
}

RankCgroup CgroupPlace::make(const Cookie& cookie, std::uint32_t epoch, std::int32_t rank) const {
  if (path_.empty()) return {};
  std::string path = fmt::format("{}/{}{}-{}.{}", path_, kCgroupPrefix, cookie.text(), epoch, rank);
  if (::mkdir(path.c_str(), 0755) != 0) return {};
  UniqueFd folder = open_cgroup(path);
  // Since Linux 5.14.
  if (folder && ::faccessat(folder.get(), "cgroup.kill", W_OK, 0) == 0)
    return {std::move(path), std::move(folder)};
  ::rmdir(path.c_str());
  return {};
}

std::vector<pid_t> CgroupPlace::clear(const std::function<bool(const Cookie&)>& wanted) const {
  std::vector<std::string> found;
  std::error_code error;
  if (path_.empty()) return {};
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const auto cookie = cookie_of(entry.path().filename().string());
    if (cookie && wanted(*cookie)) found.push_back(entry.path().string());
  }
  std::vector<pid_t> killed;
  for (const std::string& path : found) {
    std::istringstream processes(read_small_file((path + "/cgroup.procs").c_str()));
    std::vector<pid_t> inside;
    for (pid_t pid = 0; processes >> pid;) inside.push_back(pid);
    // The kernel lists processes as 0 that this PID namespace does not see, those of another
    // container for example. Their agent is not seen either, and may be alive.
    if (std::ranges::count(inside, 0) > 0) continue;
    killed.insert(killed.end(), inside.begin(), inside.end());
    kill_cgroup(open_cgroup(path).get());
    for (int tries = 0; ::rmdir(path.c_str()) != 0 && tries < 100; ++tries) ::usleep(1000);
  }
  return killed;
}

}  // namespace ds::launcher
