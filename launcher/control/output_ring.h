// Ring buffer of a job's recent output, which `tail` and `attach` show. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// Header of one piece of output: rank, stream and time.
struct OutputPiece {
  std::int32_t rank = 0;  // -1: a line of the launcher itself
  std::uint8_t stream = 1;
  std::uint8_t flags = 0;    // as in launcher/logs/line_batcher.h
  Clock::time_point time{};  // time of the write
};

/// Keeps the last bytes; old pieces are dropped for new ones. Positions only grow, so a reader can
/// keep one while the ring advances.
class OutputRing {
 public:
  static constexpr std::size_t kCapacity = std::size_t{1} << 20;
  /// Maximum size of a piece. Longer output is split.
  static constexpr std::size_t kMaxPiece = std::size_t{64} << 10;

  explicit OutputRing(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  void append(OutputPiece piece, std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t begin() const { return begin_; }  // position of the oldest piece
  [[nodiscard]] std::uint64_t end() const { return end_; }

  struct Read {
    OutputPiece piece;
    std::span<const std::byte> first;   // the text, in one or two parts;
    std::span<const std::byte> second;  // valid until the next append
    std::uint64_t next = 0;             // position of the next piece
  };
  /// Returns the piece at a position between begin() and end().
  [[nodiscard]] Read at(std::uint64_t position) const;

 private:
  struct Header {
    OutputPiece piece;
    std::uint32_t size = 0;
  };
  void append_piece(OutputPiece piece, std::span<const std::byte> bytes);
  void put(std::span<const std::byte> bytes);
  [[nodiscard]] Header header_at(std::uint64_t position) const;
  /// Returns up to `count` bytes from `position` on; less if the buffer wraps around.
  [[nodiscard]] std::span<const std::byte> view(std::uint64_t position, std::size_t count) const;

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;  // allocated at the first output
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace ds::launcher
