// Reads hostfiles and their includes; parse_hostfile parses the text.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/hosts/hostfile.h"

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
  if (error_number == ENOENT)
    return "check --hostfile; relative paths start at the current directory";
  if (error_number == EISDIR) return "--hostfile takes a file, not a directory";
  return error_number == EACCES ? "check the file's permissions" : "";
}

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno, hint_for(errno));
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLargestFile)
      throw Error(ErrorKind::config, fmt::format("hostfile {} is larger than 16 MiB", path),
                  "check that this is a hostfile, with one host or one range per line");
  }
}

/// Reads a file; `missing_hint` is the hint if it does not exist.
IncludedText read_file(const std::string& path, const std::string& missing_hint) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail(path, errno, errno == ENOENT ? missing_hint : hint_for(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(path, errno, {});
  if (S_ISDIR(info.st_mode)) fail(path, EISDIR, hint_for(EISDIR));
  return {path, fmt::format("{} {}", info.st_dev, info.st_ino), read_all(fd.get(), path)};
}

/// Reads an included file. A relative path starts at the folder of the including file.
IncludedText read_included(const std::string& path, const std::string& from) {
  return read_file((std::filesystem::path(from).parent_path() / path).string(),
                   "relative paths start at the folder of the including file");
}

}  // namespace

std::vector<Host> load_hostfile(const std::string& path) {
  if (path == "-")
    return parse_hostfile(read_all(STDIN_FILENO, "standard input"), "<stdin>", read_included, "-");
  const IncludedText file = read_file(path, hint_for(ENOENT));
  return parse_hostfile(file.text, path, read_included, file.identity);
}

}  // namespace ds::launcher
