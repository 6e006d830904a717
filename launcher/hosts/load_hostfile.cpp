// Reader of hostfiles and their includes; parse_hostfile parses the text.
#include "launcher/hosts/load_hostfile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
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
      return "check --hostfile; relative paths start at the current directory";
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
                  "check that this is a hostfile, with one host or one range per line");
    }
  }
}

struct OpenFile {
  UniqueFd fd;
  std::string identity;
};

OpenFile open_file(const std::string& path, const char* missing_hint = nullptr) {
  OpenFile file{UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), {}};
  if (!file.fd) fail(path, errno, errno == ENOENT && missing_hint ? missing_hint : hint_for(errno));
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) fail(path, errno, {});
  if (S_ISDIR(info.st_mode)) fail(path, EISDIR, hint_for(EISDIR));
  file.identity = fmt::format("{} {}", info.st_dev, info.st_ino);
  return file;
}

/// Reads an included file. A relative path starts at the folder of the including file.
IncludedText read_included(const std::string& path, const std::string& from) {
  const std::filesystem::path folder = std::filesystem::path(from).parent_path();
  const std::string full = (folder / path).string();
  const OpenFile file = open_file(full, "relative paths start at the folder of the including file");
  return {full, file.identity, read_all(file.fd.get(), full)};
}

}  // namespace

std::vector<Host> load_hostfile(const std::string& path) {
  if (path == "-")
    return parse_hostfile(read_all(STDIN_FILENO, "standard input"), "<stdin>", read_included, "-");
  const OpenFile file = open_file(path);
  return parse_hostfile(read_all(file.fd.get(), path), path, read_included, file.identity);
}

}  // namespace ds::launcher
