// MappedFile: open, fstat and mmap, each with its own error message.
#include "engine/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view why, std::string hint) {
  throw Error(ErrorKind::config, fmt::format("data file {}: {}", path, why), std::move(hint));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // Non-blocking, so that opening a pipe without a writer does not hang.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) fail(path, std::strerror(errno), "check its permissions");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(path, std::strerror(errno), {});
  if (!S_ISREG(status.st_mode)) fail(path, "is not a regular file", "name text files");
  if (status.st_size == 0) fail(path, "is empty", "remove it or leave it out of the pattern");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED)
    fail(path, std::strerror(errno), "the file cannot be mapped into memory");
  bytes_ = {static_cast<const std::uint8_t*>(memory), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

void will_need(const void* bytes, std::int64_t count) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes);
  const std::uintptr_t from = begin / page * page;
  // A failure costs only time: the bytes are read when they are used.
  ::madvise(reinterpret_cast<void*>(from), begin - from + static_cast<std::size_t>(count),
            MADV_WILLNEED);
}

}  // namespace ds
