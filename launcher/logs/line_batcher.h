// Cuts output of a rank on its node: a stream into batches of whole lines, an Output into smaller
// ones. Pure: the clock is an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Flags that say how a batch ends; 0: with a newline.
inline constexpr std::uint8_t kOutputPartial =
    1;                                          // inside a line that stopped growing, or at the end
inline constexpr std::uint8_t kOutputCr = 2;    // inside a line, after a '\r': progress
inline constexpr std::uint8_t kOutputMore = 4;  // inside a line longer than a batch

struct LineBatch {
  std::span<const std::byte> bytes;  // valid until the next call of the batcher
  std::uint8_t flags = 0;            // kOutput...
};

/// Reads go straight into the buffer, and batches are spans of it: lines are neither inspected nor
/// copied one by one. Order of calls: read into space(), added(n), then take() until it returns
/// nothing. space() is never empty then.
class LineBatcher {
 public:
  /// An unfinished line is passed on when its first byte is this old.
  static constexpr std::chrono::milliseconds kPartialAfter{250};
  static constexpr std::size_t kCapacity = std::size_t{256} << 10;

  explicit LineBatcher(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  /// Returns where the next read goes.
  std::span<std::byte> space();
  /// Reports that `count` bytes of space() are filled.
  void added(std::size_t count, Clock::time_point now);
  /// Returns all whole lines, or else the beginning of a line that fills the buffer or is old
  /// enough.
  std::optional<LineBatch> take(Clock::time_point now);
  /// Returns what is left at the end of the stream, after take() returned nothing.
  std::optional<LineBatch> take_rest();
  /// Returns when to call take() again without new bytes.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  /// Reading was not possible until `now`: the unfinished line counts as that young.
  void read_on(Clock::time_point now) { partial_since_ = now; }
  [[nodiscard]] std::size_t held() const { return end_ - begin_; }

 private:
  void drop_taken();
  LineBatch take_until(std::size_t until, std::uint8_t flags);
  std::uint8_t partial_flags() const;

  std::size_t capacity_;
  /// Allocated by the first read, so a silent stream costs nothing.
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;  // the first byte not taken
  std::size_t end_ = 0;
  std::size_t lines_end_ = 0;        // after the last newline; <= begin_: none
  Clock::time_point partial_since_;  // when the first byte after lines_end_ arrived
};

/// Cuts an Output into pieces of limited size, after newlines where there are any. The pieces
/// together equal the whole. One backward search for a newline a piece.
class OutputCutter {
 public:
  /// `limit` > 0, in bytes of text.
  OutputCutter(const Output& whole, std::size_t limit) : rest_(whole), limit_(limit) {}

  /// Returns the next piece; the last one has the flags of the whole. Valid as long as the whole.
  std::optional<Output> next() {
    if (done_) return std::nullopt;
    Output piece = rest_;
    done_ = rest_.bytes.size() <= limit_;
    if (done_) return piece;
    const void* newline = ::memrchr(rest_.bytes.data(), '\n', limit_);
    const auto* const end = static_cast<const std::byte*>(newline);
    const std::size_t size =
        end == nullptr ? limit_ : static_cast<std::size_t>(end - rest_.bytes.data()) + 1;
    piece.flags = static_cast<std::uint8_t>(end == nullptr ? Output::kPartial | Output::kMore : 0);
    piece.bytes = rest_.bytes.first(size);
    rest_.bytes = rest_.bytes.subspan(size);
    return piece;
  }

 private:
  Output rest_;
  std::size_t limit_;
  bool done_ = false;
};

}  // namespace ds::launcher
