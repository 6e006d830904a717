// One output stream of one rank -> batches of whole lines, on the node. Pure: the clock is an
// argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/base/deadline.h"

namespace ds::launcher {

/// How a batch ends; 0: with a newline.
inline constexpr std::uint8_t kOutputPartial = 1;  // inside a line that stood still, or ended
inline constexpr std::uint8_t kOutputCr = 2;       // inside a line, after a '\r': progress
inline constexpr std::uint8_t kOutputMore = 4;     // inside a line longer than a batch

struct LineBatch {
  std::span<const std::byte> bytes;  // valid until the next call of the batcher
  std::uint8_t flags = 0;            // kOutput...
};

/// Reads go straight into its buffer and batches are spans of it: no line is looked at or copied
/// alone. Order of calls: read into space(), added(n), then take() until it is empty. space() is
/// never empty then.
class LineBatcher {
 public:
  /// What stays without newline is passed on when its first byte is so old.
  static constexpr std::chrono::milliseconds kPartialAfter{250};
  static constexpr std::size_t kCapacity = std::size_t{256} << 10;

  explicit LineBatcher(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  /// Where the next read goes.
  std::span<std::byte> space();
  /// `count` bytes of space() are filled.
  void added(std::size_t count, Clock::time_point now);
  /// All whole lines; else the beginning of a line that fills the buffer or is old enough.
  std::optional<LineBatch> take(Clock::time_point now);
  /// At the end of the stream, after take() was empty: what is left.
  std::optional<LineBatch> take_rest();
  /// When take() is worth a call without new bytes.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  /// Until now nobody could read on: what is held is as young as `now`.
  void read_on(Clock::time_point now) { partial_since_ = now; }
  [[nodiscard]] std::size_t held() const { return end_ - begin_; }

 private:
  void drop_taken();
  LineBatch take_until(std::size_t until, std::uint8_t flags);
  std::uint8_t partial_flags() const;

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;  // made by the first read: a silent stream costs nothing
  std::size_t begin_ = 0;                // first byte not taken
  std::size_t end_ = 0;
  std::size_t lines_end_ = 0;        // after the last newline; <= begin_: none
  Clock::time_point partial_since_;  // when the first byte after lines_end_ came
};

}  // namespace ds::launcher
