// ChunkWriter: writes one rank's chunk: pieces with checksums, at a limited rate, into a file of its
// own or into an open one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

struct ChunkWriterSpec {
  std::string path;  // created; an existing file of that name is replaced. With `fd`: for messages
  std::int64_t rate = 0;                      // bytes per second; 0: unlimited
  const std::atomic<bool>* cancel = nullptr;  // set: the next write throws; may be null
  const std::atomic<bool>* hurry = nullptr;   // set: the rate limit no longer applies; may be null
  /// Where the pieces are written instead, through the page cache and without a sync: an open file,
  /// which stays open, from byte `first`. -1: none.
  int fd = -1;
  std::int64_t first = 0;
};

/// Computes when a rate-limited writer may continue. A pause does not earn a burst. Pure.
class Pace {
 public:
  explicit Pace(std::int64_t rate) : rate_(rate) {}
  /// Returns the time after which `bytes`, written up to `now`, are within the rate; rate 0: `now`.
  Clock::time_point after(std::int64_t bytes, Clock::time_point now);

 private:
  std::int64_t rate_ = 0;
  Clock::time_point due_{};
};

/// Used by one thread. Destruction without finish() closes the file and leaves it as it is. Short
/// writes are continued. All errors: Error{system} with the file, what failed and why (disk full,
/// quota, I/O error, permission).
class ChunkWriter {
 public:
  explicit ChunkWriter(const ChunkWriterSpec& spec);

  /// Appends at most kPieceBytes as one piece, at the next multiple of 64 bytes. A piece of at
  /// least 1 MiB starts at a multiple of 4096 and bypasses the page cache where file system and
  /// address allow it.
  struct Place {
    std::int64_t at = 0;
    std::uint64_t checksum = 0;
  };
  Place append(std::span<const std::byte> bytes);
  /// Returns where a piece of that size begins if the pieces before it end at `end`. Pure.
  static std::int64_t place_after(std::int64_t end, std::int64_t bytes);

  /// Syncs and closes the file, checking both. Returns the size of the file; with `fd`, that of the
  /// pieces with what is between them.
  std::int64_t finish();

 private:
  void write_at(std::span<const std::byte> bytes, std::int64_t at);
  [[nodiscard]] std::size_t direct_bytes(std::span<const std::byte> bytes, std::int64_t at) const;
  bool set_direct(bool direct);
  void push_out();
  void wait(std::int64_t bytes);
  [[noreturn]] void fail(const std::string& what, int error_number) const;

  [[nodiscard]] bool is_own_file() const { return spec_.fd < 0; }
  [[nodiscard]] int fd() const { return is_own_file() ? file_.get() : spec_.fd; }

  ChunkWriterSpec spec_;
  Pace pace_;
  UniqueFd file_;  // none with ChunkWriterSpec::fd
  std::int64_t bytes_ = 0, pushed_ = 0;
  bool may_be_direct_ = false;
  bool is_direct_ = false;  // the file's flag O_DIRECT
};

}  // namespace ds
