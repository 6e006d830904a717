// Output that waits: first in memory, then in a file without a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// First in, first out. Kept in chunks: the oldest, the newest and a few others in memory, those
/// between them on disk.
/// Memory:  at most kMemory, unless told otherwise, and one chunk.
/// Errors:  a disk that takes no more makes the spool as full as it is.
class Spool {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;
  static constexpr std::size_t kMemory = 16 * kChunk;

  /// `drop`: when full, the oldest chunk makes room.
  Spool(std::uint64_t limit, bool drop, std::size_t memory = kMemory)
      : limit_(limit), drop_(drop), memory_(memory) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// With headers.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Nothing more should be pushed; never if it drops.
  [[nodiscard]] bool full() const { return !drop_ && (size_ >= limit_ || disk_failed_); }

  void push(const Output& output);
  /// The oldest; valid until the next call of push() or pop().
  [[nodiscard]] std::optional<Output> front();
  void pop();
  /// Lines that were dropped since the last call; they stood before front().
  std::uint64_t take_dropped();
  /// Everything; it counts as dropped.
  void discard();

 private:
  struct Header {
    std::uint32_t size = 0;
    std::int32_t rank = 0;
    std::uint64_t time = 0;
    std::uint8_t stream = 1;
    std::uint8_t flags = 0;
  };
  struct Chunk {
    std::vector<std::byte> bytes;     // empty while on disk
    std::size_t size = 0;             // with what has been read
    std::optional<std::size_t> slot;  // on disk
    std::uint64_t lines = 0;
  };
  void put_on_disk(Chunk& chunk);
  void fetch(Chunk& chunk);
  void drop_oldest();
  void forget_front();
  bool open_file();

  std::uint64_t limit_;
  bool drop_;
  std::size_t memory_;  // beyond it the disk is used
  bool disk_failed_ = false;
  std::deque<Chunk> chunks_;
  std::size_t read_ = 0;          // of the front chunk
  std::uint64_t lines_read_ = 0;  // of the front chunk
  std::uint64_t size_ = 0;        // not read
  std::size_t in_memory_ = 0;     // bytes of chunks
  std::uint64_t dropped_lines_ = 0;
  UniqueFd file_;
  std::vector<std::size_t> free_slots_;
  std::size_t slots_ = 0;
};

}  // namespace ds::launcher
