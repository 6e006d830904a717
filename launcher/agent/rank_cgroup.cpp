#include "launcher/agent/rank_cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <vector>

#include "launcher/agent/proc_files.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kPrefix = "dslaunch-";

/// Returns the cookie in the name of a folder "dslaunch-COOKIE-EPOCH.RANK".
std::optional<Cookie> cookie_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  return Cookie::parse(name.substr(0, name.rfind('-')));
}

/// Returns the path of this process's cgroup of version 2, from the line "0::PATH".
std::string own_path(const std::string& root) {
  const std::string text = root.empty() ? read_proc("self/cgroup")
                                        : read_small_file((root + "/proc/self/cgroup").c_str());
  std::size_t at = text.starts_with("0::") ? 0 : text.find("\n0::");
  if (at == std::string::npos) return {};
  at = text.find('/', at);
  return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
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

}  // namespace

void kill_cgroup(int folder) {
  if (folder < 0) return;
  const UniqueFd file(::openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "1", 1);
}

void RankCgroup::kill() const {
  if (folder_) kill_cgroup(folder_.get());
}

void RankCgroup::remove() {
  if (!path_.empty()) ::rmdir(path_.c_str());
  path_.clear();
  folder_.reset();
}

CgroupPlace CgroupPlace::find(const std::string& root) {
  CgroupPlace place;
  const std::string own = own_path(root);
  if (own.empty()) return place;
  for (const char* top : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::string folder = root + top + (own == "/" ? "" : own);
    // Only version 2 has this file.
    if (::access((folder + "/cgroup.controllers").c_str(), F_OK) != 0) continue;
    if (is_usable(folder)) place.path_ = std::move(folder);
    return place;
  }
  return place;
}

RankCgroup CgroupPlace::make(const Cookie& cookie, std::uint32_t epoch, std::int32_t rank) const {
  if (path_.empty()) return {};
  std::string path = fmt::format("{}/{}{}-{}.{}", path_, kPrefix, cookie.text(), epoch, rank);
  if (::mkdir(path.c_str(), 0755) != 0) return {};
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Since Linux 5.14.
  if (folder && ::faccessat(folder.get(), "cgroup.kill", W_OK, 0) == 0)
    return {std::move(path), std::move(folder)};
  ::rmdir(path.c_str());
  return {};
}

std::vector<pid_t> CgroupPlace::clear(const std::function<bool(const Cookie&)>& wanted) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(path_.empty() ? nullptr : ::opendir(path_.c_str()),
                                                 ::closedir);
  if (list == nullptr) return {};
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(list.get())) {
    const auto cookie = cookie_of(entry->d_name);
    if (cookie && wanted(*cookie)) found.push_back(path_ + "/" + entry->d_name);
  }
  std::vector<pid_t> killed;
  for (const std::string& path : found) {
    std::istringstream processes(read_small_file((path + "/cgroup.procs").c_str()));
    for (pid_t pid = 0; processes >> pid;) killed.push_back(pid);
    const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    kill_cgroup(folder.get());
    for (int tries = 0; ::rmdir(path.c_str()) != 0 && tries < 100; ++tries) ::usleep(1000);
  }
  return killed;
}

}  // namespace ds::launcher
