// Creates nameless files (O_TMPFILE where the file system has it, otherwise a file that is unlinked
// at once), reserves their space with fallocate, and tests one block as later ones are transferred.
#include "engine/storage/reserved_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/storage/stripes.h"

namespace ds {
namespace {

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

[[noreturn]] void refuse(const std::string& folder, std::string_view why, std::string hint) {
  throw Error(ErrorKind::config, fmt::format("folder {}: {}", folder, why), std::move(hint));
}

[[noreturn]] void refuse_open(const std::string& folder, int error_number) {
  const bool is_there = ::access(folder.c_str(), F_OK) == 0;
  switch (is_there && error_number == ENOENT ? EOPNOTSUPP : error_number) {
    case ENOENT:
      refuse(folder, "does not exist", "create it on every node (mkdir -p), on a fast local disk");
    case ENOTDIR:
      refuse(folder, "is not a folder", "name a folder on a fast local disk");
    case EACCES:
    case EPERM:
      refuse(folder, "cannot create a file there: " + text_of(error_number),
             "give this user write permission there");
    case EROFS:
      refuse(folder, "its file system is read-only", "use a writable folder");
    default:
      refuse(folder, "cannot create a file there: " + text_of(error_number),
             "name a folder on a fast local disk");
  }
}

/// Creates a file and removes its name at once, for file systems without O_TMPFILE.
int open_and_unlink(const std::string& folder, int flags) {
  std::string path = folder + "/dsrunner-tiles-XXXXXX";
  const int file = ::mkostemp(path.data(), flags);
  const int error = errno;
  ::unlink(path.c_str());  // also after a failure: O_DIRECT is refused after the file was created
  errno = error;
  return file;
}

using AlignedBytes = std::unique_ptr<std::byte, decltype(&std::free)>;

AlignedBytes aligned_zeros(std::size_t size) {
  AlignedBytes bytes(
      static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(kTileAlignment), size)),
      &std::free);
  if (!bytes) throw std::bad_alloc();
  std::fill_n(bytes.get(), size, std::byte{0});
  return bytes;
}

/// Returns 0, or the errno of writing and reading one page (EINVAL: O_DIRECT does not work).
int try_page(int file) {
  const auto size = static_cast<std::size_t>(kTileAlignment);
  const AlignedBytes page = aligned_zeros(size);
  for (const bool writes : {true, false}) {
    const ssize_t moved =
        writes ? ::pwrite(file, page.get(), size, 0) : ::pread(file, page.get(), size, 0);
    if (moved < 0) return errno;
  }
  return 0;
}

/// Reserves the space by writing zeros, for file systems without fallocate.
int write_zeros(int file, std::int64_t bytes) {
  constexpr std::int64_t kChunk = 1 << 20;
  const AlignedBytes zeros = aligned_zeros(static_cast<std::size_t>(kChunk));
  for (std::int64_t at = 0; at < bytes;) {
    const auto size = static_cast<std::size_t>(std::min(kChunk, bytes - at));
    const ssize_t moved = ::pwrite(file, zeros.get(), size, at);
    if (moved < 0 && errno != EINTR) return errno;
    if (moved > 0) at += moved;
  }
  return 0;
}

int take_space(int file, std::int64_t bytes) {
  int error = 0;
  do {
    error = ::fallocate(file, 0, 0, bytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error == EOPNOTSUPP ? write_zeros(file, bytes) : error;
}

/// Refuses files above RLIMIT_FSIZE. Exceeding it later would raise SIGXFSZ, which ends the process
/// without a message.
void check_size_limit(const std::string& folder, std::int64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<std::uint64_t>(bytes) <= limit.rlim_cur) return;
  refuse(folder,
         fmt::format("needs a file of {}, but this process may create files of at most {}",
                     format_bytes(bytes), format_bytes(static_cast<std::int64_t>(limit.rlim_cur))),
         "raise the limit (ulimit -f unlimited), or name more folders");
}

std::int64_t free_bytes(int file) {
  struct statfs system {};
  if (::fstatfs(file, &system) != 0) return 0;
  return static_cast<std::int64_t>(system.f_bavail) * system.f_bsize;
}

/// Reserves `bytes`. It asks first whether they are free: an fallocate that cannot succeed takes
/// all free space before it fails, and every other program of the node would meet a full disk
/// meanwhile.
void reserve(const std::string& folder, int file, std::int64_t bytes) {
  std::int64_t free = free_bytes(file);
  const int error = free < bytes ? ENOSPC : take_space(file, bytes);
  if (error == 0) return;
  std::string there = text_of(error);
  if (error == ENOSPC) {
    if (::ftruncate(file, 0) == 0) free = free_bytes(file);
    there = "has " + format_bytes(free) + " free";
    if (free >= bytes) there += ", but other ranks are reserving space at the same time";
  }
  refuse(folder, fmt::format("needs {} for this rank, {}", format_bytes(bytes), there),
         "free some space, name more or larger folders, or offload less");
}

/// Opens one file with its space reserved. `remark` receives the reason if O_DIRECT is not used.
UniqueFd open_one(const std::string& folder, std::int64_t bytes, std::string& remark) {
  UniqueFd file = open_nameless(folder, O_DIRECT);
  const bool direct = static_cast<bool>(file);
  if (!direct && errno == EINVAL) file = open_nameless(folder, 0);
  if (!file) refuse_open(folder, errno);
  check_size_limit(folder, bytes);
  if (bytes == 0) return file;
  reserve(folder, file.get(), bytes);
  bool buffered = !direct;
  int error = try_page(file.get());
  if (error == EINVAL && direct) {
    ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_DIRECT);
    buffered = true;
    error = try_page(file.get());
  }
  if (error != 0) refuse(folder, "a trial write failed: " + text_of(error), "use another folder");
  struct statfs system {};
  if (::fstatfs(file.get(), &system) == 0 && system.f_type == TMPFS_MAGIC) {
    remark = folder + " is in memory (tmpfs), not on a disk";
  } else if (buffered) {
    remark = "through the page cache (no O_DIRECT on the file system of " + folder + ")";
  }
  return file;
}

}  // namespace

UniqueFd open_nameless(const std::string& folder, int flags) {
  const int file =
      ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
  if (file >= 0) return UniqueFd(file);
  const bool no_tmpfile = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  return UniqueFd(no_tmpfile ? open_and_unlink(folder, O_CLOEXEC | flags) : -1);
}

ReservedFiles reserve_files(const TileFilesSpec& spec) {
  const Stripes stripes{.files = static_cast<int>(spec.folders.size()), .block = spec.block};
  ReservedFiles result;
  for (int i = 0; i < stripes.files; ++i) {
    const std::string& folder = spec.folders[static_cast<std::size_t>(i)];
    result.open.files.push_back(
        open_one(folder, stripes.bytes_of_file(spec.bytes, i), result.remark));
    result.open.folders.push_back(folder);
  }
  if (result.remark.empty()) result.remark = "O_DIRECT";
  return result;
}

}  // namespace ds
