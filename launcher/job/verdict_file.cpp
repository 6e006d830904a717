// Another name first, then rename.
#include "launcher/job/verdict_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
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
              "check --verdict; its folder must be there");
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
  const std::string other = other_name(path);
  if (!create(other)) fail(ErrorKind::config, path, errno);
  ::unlink(other.c_str());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail(ErrorKind::config, path, errno);
}

void write_verdict_file(const std::string& path, const std::string& text) {
  const std::string other = other_name(path);
  const UniqueFd file = create(other);
  if (!file) fail(ErrorKind::system, path, errno);
  const bool written = write_all(file.get(), text) && ::fsync(file.get()) == 0 &&
                       std::rename(other.c_str(), path.c_str()) == 0;
  if (written) return;
  const int error = errno;
  ::unlink(other.c_str());
  fail(ErrorKind::system, path, error);
}

}  // namespace ds::launcher
