// Reader of variable files: refuses files that other users could have written.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/cli/env_file.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& path, const std::string& why, std::string hint = {}) {
  throw Error(ErrorKind::config, fmt::format("cannot use variables from {}: {}", path, why),
              std::move(hint));
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, std::generic_category().message(errno));
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) fail(path, "the file is larger than 1 MiB");
  }
}

/// Reads the file if its permissions are safe. `named` tells that the user named it.
EnvFile read_file(int fd, const std::string& path, bool named) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail(path, std::generic_category().message(errno));
  if (S_ISDIR(info.st_mode)) fail(path, "it is a directory");
  const bool regular = S_ISREG(info.st_mode);
  if (regular && (info.st_mode & S_IWOTH) != 0)
    fail(path, "every user can write it", fmt::format("chmod o-w {}", path));
  if (!named && info.st_uid != ::geteuid() && info.st_uid != 0)
    fail(path, "it belongs to another user",
         fmt::format("if you trust it, set DS_ENV_FILE=/dev/null and use --env-file {}", path));
  return {parse_env_file(read_all(fd, path), path), regular && (info.st_mode & S_IROTH) != 0};
}

}  // namespace

EnvFile load_env_file(const std::string& path) {
  if (path == "-") return {parse_env_file(read_all(STDIN_FILENO, "standard input"), "<stdin>")};
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    fail(path, std::generic_category().message(errno),
         errno == ENOENT ? "check --env-file; relative paths start at the current directory" : "");
  return read_file(fd.get(), path, true);
}

EnvFile load_default_env_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    // In a folder that this user cannot search (another user's home) the file may not even exist.
    struct stat info {};
    if (error == ENOENT || error == ENOTDIR || ::stat(path.c_str(), &info) != 0) return {};
    fail(path, std::generic_category().message(error));
  }
  return read_file(fd.get(), path, false);
}

}  // namespace ds::launcher
