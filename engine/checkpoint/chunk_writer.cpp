// Writes chunk files at a limited rate and reports every disk error in plain words.
#include "engine/checkpoint/chunk_writer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "engine/base/units.h"
#include "engine/checkpoint/disk_error.h"

namespace ds {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kBlock = 4096;       // alignment of O_DIRECT: offset, size and address
constexpr std::int64_t kLong = 1 << 20;     // smallest piece that bypasses the page cache
constexpr std::int64_t kSlice = 1 << 20;    // bytes between two checks of cancel and rate
constexpr std::int64_t kPush = 16 << 20;    // bytes handed to the disk at once;
constexpr std::int64_t kBehind = 64 << 20;  // their end is waited for this many bytes later
constexpr auto kNap = std::chrono::milliseconds(20);

bool is_set(const std::atomic<bool>* flag) {
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

/// Removes any file of that name and creates a new one, so that another file is never written to.
int make_anew(const char* path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int file = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST || ::unlink(path) != 0) return file;
  }
  return -1;
}

/// Returns whether the file is on ext4 or XFS, where bypassing the page cache was measured to take
/// a fifth of the CPU and half of the time. Network file systems may prefer to collect writes.
bool is_of_local_disk(int file) {
  constexpr unsigned long kXfs = 0x58465342;
  struct statfs about {};
  if (::fstatfs(file, &about) != 0) return false;
  const auto kind = static_cast<unsigned long>(about.f_type);
  return kind == EXT4_SUPER_MAGIC || kind == kXfs;
}

}  // namespace

Clock::time_point Pace::after(std::int64_t bytes, Clock::time_point now) {
  if (rate_ <= 0) return now;
  const std::chrono::duration<double> span(static_cast<double>(bytes) / static_cast<double>(rate_));
  // One year is beyond any use; longer spans would overflow the clock.
  const auto capped = std::min<std::chrono::duration<double>>(span, std::chrono::hours(24 * 365));
  due_ = std::max(due_, now) + std::chrono::ceil<Clock::duration>(capped);
  return due_;
}

ChunkWriter::ChunkWriter(const ChunkWriterSpec& spec)
    : spec_(spec), pace_(spec.rate) {
  if (!is_own_file()) return;
  file_ = UniqueFd(make_anew(spec.path.c_str()));
  if (!file_) fail("cannot be created", errno);
  may_be_direct_ = is_of_local_disk(file_.get());
}

void ChunkWriter::fail(const std::string& what, int error_number) const {
  const std::string at =
      bytes_ > 0 ? fmt::format(" after {} of it", format_bytes(bytes_)) : std::string();
  throw disk_error(spec_.path, what + at, error_number);
}

void ChunkWriter::wait(std::int64_t bytes) {
  const Clock::time_point due = pace_.after(bytes, Clock::now());
  while (spec_.rate > 0 && !is_set(spec_.hurry) && !is_set(spec_.cancel)) {
    const auto left = due - Clock::now();
    if (left <= Clock::duration::zero()) return;
    std::this_thread::sleep_for(std::min<Clock::duration>(left, kNap));
  }
}

void ChunkWriter::write_at(std::span<const std::byte> bytes, std::int64_t at) {
  const bool is_long = std::ssize(bytes) >= kLong;
  while (!bytes.empty()) {
    if (is_set(spec_.cancel)) {
      throw Error(ErrorKind::system, spec_.path + ": writing stopped because the save is canceled");
    }
    const std::size_t direct = is_long ? direct_bytes(bytes, at) : 0;
    const bool is_direct = set_direct(direct > 0);
    std::size_t size = is_direct ? direct : bytes.size();
    // One write of a whole piece keeps a disk busier than writes of its parts.
    if (!is_direct || spec_.rate > 0) size = std::min(size, static_cast<std::size_t>(kSlice));
    const ssize_t written = ::pwrite(fd(), bytes.data(), size, spec_.first + at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL && is_direct) {
      may_be_direct_ = false;  // O_DIRECT refused for another reason: use the page cache
      continue;
    }
    if (written <= 0) fail("cannot be written", written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += written;
    bytes_ = at;
    push_out();
    wait(written);
  }
}

/// Returns how many of these bytes can bypass the page cache now, in whole blocks.
std::size_t ChunkWriter::direct_bytes(std::span<const std::byte> bytes, std::int64_t at) const {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (!may_be_direct_ || at % kBlock != 0 || address % kBlock != 0) return 0;
  return bytes.size() / kBlock * kBlock;
}

/// Sets or clears O_DIRECT. Returns the flag's value afterwards.
bool ChunkWriter::set_direct(bool direct) {
  if (direct == is_direct_) return is_direct_;
  const int flags = ::fcntl(file_.get(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  if (flags >= 0 && ::fcntl(file_.get(), F_SETFL, wanted) == 0) {
    is_direct_ = direct;
  } else {
    may_be_direct_ = false;
  }
  return is_direct_;
}

// Starts writeback early. Otherwise the kernel keeps the data in memory and fsync waits for all of
// it: other ranks would think that this one hangs, and training would lack the memory.
void ChunkWriter::push_out() {
  if (!is_own_file()) return;
  for (; bytes_ - pushed_ >= kPush; pushed_ += kPush) {
    int result = ::sync_file_range(file_.get(), pushed_, kPush, SYNC_FILE_RANGE_WRITE);
    if (result == 0 && pushed_ >= kBehind) {
      result = ::sync_file_range(
          file_.get(), pushed_ - kBehind, kPush,
          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    }
    // Not every file system supports this call, but an I/O error may be reported only once.
    if (result != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
      fail("cannot be synced to disk", errno);
  }
}

std::int64_t ChunkWriter::place_after(std::int64_t end, std::int64_t bytes) {
  const std::int64_t alignment = bytes >= kLong ? kBlock : kAlignment;
  return (end + alignment - 1) / alignment * alignment;
}

ChunkWriter::Place ChunkWriter::append(std::span<const std::byte> bytes) {
  DS_ASSERT(!bytes.empty() && static_cast<std::int64_t>(bytes.size()) <= kPieceBytes);
  const Place place{place_after(bytes_, std::ssize(bytes)),
                    XXH3_64bits(bytes.data(), bytes.size())};
  write_at(bytes, place.at);  // padding before the piece reads as zeros
  return place;
}

std::int64_t ChunkWriter::finish() {
  if (is_set(spec_.cancel)) {
    throw Error(ErrorKind::system, spec_.path + ": writing stopped because the save is canceled");
  }
  if (!is_own_file()) return bytes_;
  int result = 0;
  do {
    result = ::fsync(file_.get());
  } while (result != 0 && errno == EINTR);
  if (result != 0) fail("cannot be synced to disk", errno);
  if (::close(file_.release()) != 0 && errno != EINTR) fail("cannot be closed", errno);
  return bytes_;
}

}  // namespace ds
