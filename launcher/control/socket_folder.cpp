#include "launcher/control/socket_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kSuffix = ".sock";
constexpr std::string_view kEndedSuffix = ".ended";
constexpr std::size_t kIdDigits = 16;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::system,
              fmt::format("cannot use {} for the sockets of jobs: {}", path, why),
              fmt::format("remove it, or set {} to a folder of your own", kSocketFolderVariable));
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

void check_owner(const std::string& path, int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) refuse(path, reason(errno));
  if (facts.st_uid != ::geteuid())
    refuse(path, fmt::format("it belongs to user {}, not to you", facts.st_uid));
  if ((facts.st_mode & 077U) != 0)
    refuse(path, fmt::format("other users have rights there (mode {:04o}, not 0700)",
                             facts.st_mode & 07777U));
}

/// Returns the id in a name of the form ID + `suffix`; empty for other names.
std::string id_of(const std::string& name, std::string_view suffix) {
  if (name.size() != kIdDigits + suffix.size() || !name.ends_with(suffix)) return {};
  std::string id = name.substr(0, kIdDigits);
  const bool digits = id.find_first_not_of("0123456789abcdef") == std::string::npos;
  return digits ? id : std::string();
}

}  // namespace

std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid) {
  if (const auto own = variable(kSocketFolderVariable); own && !own->empty()) return {*own};
  std::vector<std::string> folders;
  const auto runtime = variable("XDG_RUNTIME_DIR");
  if (runtime && runtime->starts_with('/')) folders.push_back(*runtime + "/dslaunch");
  const std::string session = fmt::format("/run/user/{}/dslaunch", uid);
  if (folders.empty() || folders.front() != session) folders.push_back(session);
  const std::string last = fmt::format("/tmp/dslaunch-{}", uid);
  if (folders.front() != last) folders.push_back(last);
  return folders;
}

std::optional<SocketFolder> SocketFolder::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  const bool is_link = errno == ELOOP || errno == ENOTDIR;
  if (!fd) refuse(path, is_link ? "it is a link or a file, not a folder" : reason(errno));
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

std::vector<std::string> SocketFolder::ids() const { return ids_with(kSuffix); }

std::vector<std::string> SocketFolder::ids_with(std::string_view suffix) const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(address_of("."), error))
    if (std::string id = id_of(entry.path().filename().string(), suffix); !id.empty())
      found.push_back(std::move(id));
  std::sort(found.begin(), found.end());
  return found;
}

void SocketFolder::note_end(const std::string& id, int code) const {
  constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  const std::string name = id + std::string(kEndedSuffix);
  const UniqueFd file(::openat(fd_.get(), name.c_str(), kCreate, 0600));
  const std::string text = fmt::format("{}\n", code);
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) return;
  std::vector<std::tuple<time_t, long, std::string>> notes;  // by time
  for (const std::string& ended : ids_with(kEndedSuffix)) {
    struct stat facts {};
    const std::string note = ended + std::string(kEndedSuffix);
    if (::fstatat(fd_.get(), note.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0)
      notes.emplace_back(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, note);
  }
  std::sort(notes.begin(), notes.end());
  for (std::size_t i = 0; i + kEndedKept < notes.size(); ++i) remove(std::get<2>(notes[i]));
}

std::vector<EndedJob> SocketFolder::ended(std::string_view typed) const {
  std::vector<EndedJob> jobs;
  for (const std::string& id : ids_with(kEndedSuffix)) {
    if (!id.starts_with(typed)) continue;
    const std::string name = id + std::string(kEndedSuffix);
    const UniqueFd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    char text[8] = {};
    if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) continue;
    jobs.push_back({id, std::atoi(text)});
  }
  return jobs;
}

bool SocketFolder::contains(const std::string& name) const {
  return ::faccessat(fd_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string socket_name(const std::string& id) { return id + std::string(kSuffix); }

}  // namespace ds::launcher
