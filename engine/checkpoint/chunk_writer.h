// One rank's chunk file: pieces written one after the other, with checksums, at a settable rate.
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
  std::string path;                           // made anew; an older file of that name is replaced
  std::int64_t rate = 0;                      // bytes a second; 0: as fast as it goes
  const std::atomic<bool>* cancel = nullptr;  // set: the next write throws; may be null
  const std::atomic<bool>* hurry = nullptr;   // set: the rate no longer counts; may be null
};

/// When a writer at a rate may go on. It never saves up: after a pause nothing goes faster. Pure.
class Pace {
 public:
  explicit Pace(std::int64_t rate) : rate_(rate) {}
  /// For `bytes` that were written up to `now`; rate 0: `now`.
  Clock::time_point after(std::int64_t bytes, Clock::time_point now);

 private:
  std::int64_t rate_ = 0;
  Clock::time_point due_{};
};

/// One thread uses it. Destroyed without finish(): the file is closed and stays as it is.
/// Errors of all: Error{system} naming the file, what failed and why (disk full, quota, I/O error,
/// permission); short writes are gone on with.
class ChunkWriter {
 public:
  explicit ChunkWriter(const ChunkWriterSpec& spec);

  /// Appends at most kPieceBytes as one piece, at the next multiple of 64 bytes; of 4096 for one of
  /// at least 1 MiB, which goes past the page cache where file system and address allow it.
  struct Place {
    std::int64_t at = 0;
    std::uint64_t checksum = 0;
  };
  Place append(std::span<const std::byte> bytes);

  /// fsync and close, each checked. Returns the bytes of the file.
  std::int64_t finish();

 private:
  void write_at(std::span<const std::byte> bytes, std::int64_t at);
  [[nodiscard]] std::size_t direct_bytes(std::span<const std::byte> bytes, std::int64_t at) const;
  bool set_direct(bool direct);
  void push_out();
  void wait(std::int64_t bytes);
  [[noreturn]] void fail(const std::string& what, int error_number) const;

  ChunkWriterSpec spec_;
  Pace pace_;
  UniqueFd file_;
  std::int64_t bytes_ = 0, pushed_ = 0;
  bool may_be_direct_ = false;
  bool is_direct_ = false;  // the file's flag O_DIRECT
};

}  // namespace ds
