// File operations by plain system calls, each checked; short writes are continued.
#include "engine/checkpoint/folder_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/disk_error.h"

namespace ds {
namespace {

[[noreturn]] void cannot(std::string_view what, const std::string& path, int error_number) {
  throw disk_error(path, fmt::format("cannot be {}", what), error_number);
}

}  // namespace

Error folder_error(const std::string& folder, int error_number) {
  const std::string named = fmt::format("checkpoint.dir {}", folder);
  if (error_number == ENOENT) {
    return {ErrorKind::config, named + " does not exist",
            "is its disk mounted? a link to a missing folder is missing too"};
  }
  if (error_number == ENOTDIR || error_number == EEXIST) {
    return {ErrorKind::config, named + " is not a folder", "name a folder that all nodes share"};
  }
  const Error error = disk_error(named, "cannot be used", error_number);
  return {ErrorKind::config, error.what(), error.hint()};
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::opendir(folder.c_str()), &::closedir);
  if (!list && errno == ENOENT) return names;
  if (!list) cannot("read", folder, errno);
  errno = 0;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) cannot("read", folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_there(const std::string& path) {
  struct stat unused {};
  return ::lstat(path.c_str(), &unused) == 0;
}

void write_whole(const std::string& path, std::string_view text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) cannot("created", path, errno);
  while (!text.empty()) {
    const ssize_t sent = ::write(file.get(), text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) cannot("written", path, errno);
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  if (::fsync(file.get()) != 0) cannot("synced", path, errno);
  if (::close(file.release()) != 0) cannot("closed", path, errno);  // NFS reports a full disk here
}

std::string read_whole(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) cannot("opened", path, errno);
  std::string text;
  std::array<char, 1 << 16> block;
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot("read", path, errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

void sync_names(const std::string& folder) {
  const UniqueFd file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) cannot("opened", folder, errno);
  if (::fsync(file.get()) == 0) return;
  const bool unknown_there = errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  if (!unknown_there) cannot("synced", folder, errno);
}

void rename_in_place(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    cannot(fmt::format("renamed to {}", to), from, errno);
  }
}

void remove_all_of(const std::string& path) noexcept {
  try {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  } catch (...) {  // out of memory: the folder stays
  }
}

}  // namespace ds
