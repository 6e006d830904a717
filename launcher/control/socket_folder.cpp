// Every check is made on the open descriptor, never on a path that could change meanwhile.
#include "launcher/control/socket_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr std::size_t kIdDigits = 16;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::system, fmt::format("{} cannot hold the sockets of jobs: {}", path, why),
              fmt::format("remove it, or set {} to a folder of your own", kSocketFolderVariable));
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

void check_owner(const std::string& path, int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) refuse(path, reason(errno));
  if (facts.st_uid != ::geteuid())
    refuse(path, fmt::format("it belongs to user {}, not to you", facts.st_uid));
  if ((facts.st_mode & 077U) != 0)
    refuse(path,
           fmt::format("others have rights there (mode {:04o}, not 0700)", facts.st_mode & 07777U));
}

}  // namespace

std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid) {
  if (const auto own = variable(kSocketFolderVariable); own && !own->empty()) return {*own};
  std::vector<std::string> folders;
  const auto runtime = variable("XDG_RUNTIME_DIR");
  if (runtime && runtime->starts_with('/')) folders.push_back(*runtime + "/dslaunch");
  for (std::string& path : std::vector<std::string>{fmt::format("/run/user/{}/dslaunch", uid),
                                                    fmt::format("/tmp/dslaunch-{}", uid)}) {
    if (std::find(folders.begin(), folders.end(), path) == folders.end())
      folders.push_back(std::move(path));
  }
  return folders;
}

std::optional<SocketFolder> SocketFolder::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) {
    const int error_number = errno;
    const bool is_link = error_number == ELOOP || error_number == ENOTDIR;
    refuse(path, is_link ? "it is a link or a file, not a folder" : reason(error_number));
  }
  check_owner(path, fd.get());
  return SocketFolder(path, std::move(fd));
}

SocketFolder SocketFolder::open_or_make(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) refuse(path, reason(errno));
  std::optional<SocketFolder> folder = open(path);
  if (!folder) refuse(path, "it was removed");
  return std::move(*folder);
}

std::string SocketFolder::address_of(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", fd_.get(), name);
}

std::vector<std::string> SocketFolder::ids() const {
  // A descriptor of its own: reading moves its place.
  const int copy = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy), ::closedir);
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(list.get()))
    if (std::string id = id_of_socket(entry->d_name); !id.empty()) found.push_back(std::move(id));
  std::sort(found.begin(), found.end());
  return found;
}

bool SocketFolder::contains(const std::string& name) const {
  return ::faccessat(fd_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void SocketFolder::remove(const std::string& name) const { ::unlinkat(fd_.get(), name.c_str(), 0); }

bool SocketFolder::rename(const std::string& from, const std::string& to) const {
  return ::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0;
}

std::string socket_name(const std::string& id) { return id + std::string(kSuffix); }

std::string id_of_socket(const std::string& name) {
  if (name.size() != kIdDigits + kSuffix.size() || !name.ends_with(kSuffix)) return {};
  std::string id = name.substr(0, kIdDigits);
  const bool digits = id.find_first_not_of("0123456789abcdef") == std::string::npos;
  return digits ? id : std::string();
}

}  // namespace ds::launcher
