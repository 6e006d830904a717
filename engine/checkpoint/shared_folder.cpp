// Tests checkpoint.dir with small hidden files, which are removed before training starts.
#include "engine/checkpoint/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "engine/base/unique_fd.h"
#include "engine/base/units.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr std::uint64_t kMostInBlock = 1 << 20, kLeastInBlock = 4096;
constexpr int kMostBlocks = 8;  // per sync; 15 in total
constexpr std::chrono::milliseconds kMostTime{200};

std::string probe_path(const std::string& dir, const std::string& nonce) {
  return fmt::format("{}/{}{}", dir, kProbePrefix, nonce);
}

/// Returns 0, or errno.
int write_all(int file, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::write(file, bytes, size);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return 0;
}

/// Creates and syncs a file. Returns 0, or errno.
int make_file(const std::string& path, const std::string& text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return errno;
  if (const int error = write_all(file.get(), text.data(), text.size()); error != 0) return error;
  if (::fsync(file.get()) != 0) return errno;
  return ::close(file.release()) == 0 ? 0 : errno;
}

/// Opens a file without a name, or one whose name is removed at once.
UniqueFd open_nameless(const std::string& dir) {
  const int file = ::open(dir.c_str(), O_TMPFILE | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) return UniqueFd(file);
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return {};
  std::string path = fmt::format("{}/{}rate-XXXXXX", dir, kProbePrefix);
  UniqueFd named(::mkostemp(path.data(), O_CLOEXEC));
  if (named) ::unlink(path.c_str());
  return named;
}

/// Returns the block size for the measurement: a small part of the free space, because many ranks
/// measure at once.
std::uint64_t block_to_measure(int file) {
  struct statvfs facts {};
  if (::fstatvfs(file, &facts) != 0) return kLeastInBlock;
  return std::clamp<std::uint64_t>(facts.f_bavail * facts.f_frsize / 1024, kLeastInBlock,
                                   kMostInBlock);
}

bool is_visible(const std::string& path) {
  return static_cast<bool>(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
}

}  // namespace

void leave_probe(const std::string& dir, const std::string& nonce) {
  if (const int error = make_file(probe_path(dir, nonce), ""); error != 0) {
    remove_probe(dir, nonce);
    throw folder_error(dir, error);
  }
}

bool sees_probe(const std::string& dir, const std::string& nonce, Deadline deadline) {
  const std::string path = probe_path(dir, nonce);
  while (!is_visible(path)) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::min(kPause, deadline.remaining()));
    // Changing the folder (on NFS no file is nameless) makes the client ask the server again.
    const UniqueFd touched = open_nameless(dir);
    try {
      (void)names_in(dir);
    } catch (const Error&) {  // the next check reports it
    }
  }
  return true;
}

void remove_probe(const std::string& dir, const std::string& nonce) noexcept {
  try {
    ::unlink(probe_path(dir, nonce).c_str());
  } catch (...) {  // out of memory: a small hidden file stays
  }
}

void try_folder(const std::string& dir, int rank) {
  struct stat facts {};
  if (::stat(dir.c_str(), &facts) != 0) throw folder_error(dir, errno);
  if (!S_ISDIR(facts.st_mode)) throw folder_error(dir, ENOTDIR);
  const std::string path = fmt::format("{}/{}rank-{:05}-{}", dir, kProbePrefix, rank, ::getpid());
  const std::string renamed = path + "-renamed";
  int error = make_file(path, "dslaunch tests whether it can write here\n");
  if (error == 0 && ::rename(path.c_str(), renamed.c_str()) != 0) error = errno;
  ::unlink(path.c_str());
  ::unlink(renamed.c_str());
  if (error != 0) throw folder_error(dir, error);
}

Error other_folder_error(const std::string& dir, const std::string& host_of_0,
                         const std::vector<RankPlace>& blind) {
  std::string hosts;
  std::string last;
  for (const RankPlace& place : blind) {
    if (place.host == last) continue;
    last = place.host;
    hosts += fmt::format("{}{} (rank {})", hosts.empty() ? "" : ", ", place.host, place.rank);
  }
  return {
      ErrorKind::config,
      fmt::format(
          "checkpoint.dir {} is not the same folder on all nodes: a file that rank 0 wrote on {} "
          "is not visible on {}",
          dir, host_of_0, hosts),
      "name a folder on a file system that all nodes mount (NFS, Lustre, ...) at this path"};
}

void check_room(const std::string& dir, std::int64_t free, std::int64_t needed) {
  if (free >= needed) return;
  throw Error(ErrorKind::config,
              fmt::format("checkpoint.dir {}: a checkpoint needs {}, but only {} are free", dir,
                          format_bytes(needed), format_bytes(free)),
              "free some space there (old checkpoints: checkpoint.keep), or use another folder");
}

std::int64_t measure_write_rate(const std::string& dir) {
  const UniqueFd file = open_nameless(dir);
  if (!file) throw folder_error(dir, errno);
  const std::string block(block_to_measure(file.get()), '\x5a');
  const Clock::time_point start = Clock::now();
  std::int64_t bytes = 0;
  int error = 0;
  // Each sync covers twice as much, so that its fixed cost does not hide a fast disk.
  for (int blocks = 1; blocks <= kMostBlocks && Clock::now() - start < kMostTime; blocks *= 2) {
    for (int i = 0; i < blocks && error == 0; ++i) {
      error = write_all(file.get(), block.data(), block.size());
    }
    if (error == 0 && ::fdatasync(file.get()) != 0) error = errno;
    // A disk with room for a checkpoint may have none for this test too; check_room() decides.
    if (error == ENOSPC || error == EDQUOT) break;
    if (error != 0) throw folder_error(dir, error);
    bytes += static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(block.size());
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  return static_cast<std::int64_t>(static_cast<double>(bytes) / std::max(took.count(), 1e-6));
}

}  // namespace ds
