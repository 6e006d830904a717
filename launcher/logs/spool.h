// A queue of output: first in memory, then in an unlinked file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// First in, first out, in chunks. The oldest, the newest and a few other chunks are in memory; the
/// chunks between them are on disk.
/// Memory:  kMemory, or the limit given, and one chunk.
/// Errors:  when the disk fails, the spool counts as full.
class Spool {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;
  static constexpr std::size_t kMemory = 16 * kChunk;

  /// `drop`: when full, the oldest chunk makes room.
  Spool(std::uint64_t limit, bool drop, std::size_t memory = kMemory)
      : limit_(limit), drop_(drop), memory_(memory) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Returns the bytes stored, headers included.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Returns whether nothing more should be pushed; never for a spool that drops.
  [[nodiscard]] bool full() const { return !drop_ && (size_ >= limit_ || disk_failed_); }

  void push(const Output& output);
  /// Returns the oldest piece; valid until the next call of push() or pop().
  [[nodiscard]] std::optional<Output> front();
  void pop();
  /// Returns how many lines were dropped since the last call; they came before front().
  std::uint64_t take_dropped();
  /// Drops everything.
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
    std::size_t size = 0;             // with what has been popped
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
  std::uint64_t size_ = 0;        // not popped
  std::size_t in_memory_ = 0;     // bytes of chunks
  std::uint64_t dropped_lines_ = 0;
  UniqueFd file_;
  std::vector<std::size_t> free_slots_;
  std::size_t slots_ = 0;
};

}  // namespace ds::launcher
