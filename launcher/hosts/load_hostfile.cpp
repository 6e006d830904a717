// The effects of reading a hostfile; what its text means is parse_hostfile's.
#include "launcher/hosts/load_hostfile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLargestFile = std::size_t{16} << 20;

[[noreturn]] void fail(const std::string& path, int error_number, std::string hint) {
  throw Error(ErrorKind::config,
              fmt::format("cannot read hostfile {}: {}", path,
                          std::generic_category().message(error_number)),
              std::move(hint));
}

std::string hint_for(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "check --hostfile; a relative path counts from the current directory";
    case EISDIR:
      return "--hostfile takes a file, not a directory";
    case EACCES:
      return "check the file's permissions";
    default:
      return {};
  }
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      fail(path, errno, hint_for(errno));
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile) {
      throw Error(ErrorKind::config, fmt::format("hostfile {} is larger than 16 MiB", path),
                  "a hostfile has one host or one range a line; is this the right file?");
    }
  }
}

}  // namespace

std::vector<Host> load_hostfile(const std::string& path) {
  if (path == "-") return parse_hostfile(read_all(STDIN_FILENO, "standard input"), "<stdin>");
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail(path, errno, hint_for(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(path, errno, {});
  if (S_ISDIR(info.st_mode)) fail(path, EISDIR, hint_for(EISDIR));
  return parse_hostfile(read_all(fd.get(), path), path);
}

}  // namespace ds::launcher
