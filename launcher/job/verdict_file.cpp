#include "launcher/job/verdict_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

std::string other_name(const std::string& path) {
  return fmt::format("{}.{}.tmp", path, ::getpid());
}

UniqueFd create(const std::string& name) {
  return UniqueFd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

[[noreturn]] void fail(ErrorKind kind, const std::string& path, int error) {
  throw Error(kind,
              fmt::format("cannot write the verdict to {}: {}", path,
                          std::generic_category().message(error)),
              error == ENOENT ? "create its folder, or choose another with --verdict" : "");
}

/// Returns the descriptor of this process that `path` names, as /dev/stdout, /proc/self/fd/3 and
/// /dev/fd/63 of a shell's >(...) do; -1: none.
int descriptor_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return -1;
  const std::string own = fmt::format("/proc/{}/fd", ::getpid());
  for (const auto& name : {path, path.parent_path() / target}) {
    const std::string digits = name.filename();
    int fd = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (fd >= 0 && std::filesystem::canonical(name.parent_path(), error) == own) return fd;
  }
  return -1;
}

/// Returns whether `path` must be neither removed nor replaced.
bool is_written_in_place(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return false;
  const bool replaced = S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
  return !replaced || descriptor_of(path) >= 0;
}

/// Opens without waiting: a pipe without a reader is an error. An own descriptor is duplicated:
/// opened again, a file would have a place for writing of its own, and the shell's next command
/// would overwrite the verdict.
UniqueFd open_in_place(const std::string& path) {
  if (const int fd = descriptor_of(path); fd >= 0) return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (file) ::fcntl(file.get(), F_SETFL, O_APPEND);
  return file;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

void prepare_verdict_file(const std::string& path) {
  if (is_written_in_place(path)) {
    if (::access(path.c_str(), W_OK) != 0) fail(ErrorKind::config, path, errno);
    return;
  }
  const std::string other = other_name(path);
  if (!create(other)) fail(ErrorKind::config, path, errno);
  ::unlink(other.c_str());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(ErrorKind::config, path, errno);
}

void write_verdict_file(const std::string& path, const std::string& text) {
  const bool in_place = is_written_in_place(path);
  const std::string name = in_place ? path : other_name(path);
  const UniqueFd file = in_place ? open_in_place(path) : create(name);
  if (file && write_all(file.get(), text)) {
    if (in_place) return;
    if (::fsync(file.get()) == 0 && std::rename(name.c_str(), path.c_str()) == 0) return;
  }
  const int error = errno;
  if (file && !in_place) ::unlink(name.c_str());
  fail(ErrorKind::system, path, error);
}

}  // namespace ds::launcher
