// Cuts one Output into several of limited size, after newlines where there are any. Pure.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// The pieces together equal the whole. One backward search for a newline a piece.
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
