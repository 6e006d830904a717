#include "launcher/copy/source_paths.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/base/unique_fd.h"

namespace ds::launcher::copy {

std::vector<std::string> expand_patterns(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    struct stat known {};
    glob_t found{};
    const bool is_name = ::lstat(path.c_str(), &known) == 0;
    if (is_name || ::glob(path.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found) != 0)
      names.push_back(path);
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      names.push_back(std::string(found.gl_pathv[i]));
    ::globfree(&found);
  }
  return names;
}

bool may_hide_size(const struct stat& known) {
  return known.st_blocks == 0 && known.st_size <= static_cast<off_t>(kPage);
}

std::shared_ptr<const Bytes> read_whole(const std::string& place, const struct stat& known,
                                        std::size_t most, std::string& problem) {
  constexpr std::size_t kAtOnce = std::size_t{64} << 10;
  const UniqueFd file(::open(place.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto bytes = std::make_shared<Bytes>();
  std::size_t size = 0;
  ssize_t got = -1;
  struct stat now {};
  if (file && ::fstat(file.get(), &now) == 0) {
    if (now.st_dev != known.st_dev || now.st_ino != known.st_ino) {
      problem = "changed while it was listed";
      return nullptr;
    }
    do {
      bytes->resize(size + kAtOnce);
      got = ::read(file.get(), bytes->data() + size, kAtOnce);
      if (got > 0) size += static_cast<std::size_t>(got);
    } while (got > 0 && size <= most);
  }
  bytes->resize(size);
  if (got == 0) return bytes;
  problem = got < 0 ? std::strerror(errno) : "does not tell its size, and is too large";
  return nullptr;
}

}  // namespace ds::launcher::copy
