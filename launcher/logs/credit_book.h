// How much output each node may still send: grants follow what has come, unless they are held
// back. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ds::launcher {

/// At any time a node may have at most window() bytes of frames under way, or waiting here, beyond
/// what is allowed by whoever holds and releases.
class CreditBook {
 public:
  /// All windows together, up to 1,024 nodes. What a node sends can be there four times: libssh
  /// keeps up to three copies of a packet (32 KiB), whose room it never gives back.
  static constexpr std::uint64_t kTotal = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 20;
  static constexpr std::uint64_t kMostInFrame = std::uint64_t{256} << 10;

  /// The text of one frame, by a node whose first grant is `window`. Promise: a node whose window
  /// has all been taken has credit for a frame, whatever took() still owes.
  static constexpr std::uint64_t frame_of(std::uint64_t window) {
    return std::min(window / 4, kMostInFrame);
  }

  explicit CreditBook(std::size_t nodes)
      : window_(std::clamp(kTotal / std::max<std::size_t>(nodes, 1), kLeast, kMost)) {}

  /// The first grant of every node.
  [[nodiscard]] std::uint64_t window() const { return window_; }

  /// So much has come from a node, headers and all; returns what it is granted now, if anything.
  std::optional<std::uint64_t> took(std::size_t node, std::uint64_t bytes) {
    if (node >= owed_.size()) owed_.resize(node + 1);
    std::uint64_t& owed = owed_[node];
    owed += bytes;
    if (held_ || owed < window_ / 4) return std::nullopt;
    return std::exchange(owed, 0);
  }
  void hold() { held_ = true; }
  /// Returns what each node is granted now.
  std::vector<std::pair<std::size_t, std::uint64_t>> release() {
    std::vector<std::pair<std::size_t, std::uint64_t>> grants;
    if (!std::exchange(held_, false)) return grants;
    for (std::size_t node = 0; node < owed_.size(); ++node)
      if (owed_[node] > 0) grants.emplace_back(node, std::exchange(owed_[node], 0));
    return grants;
  }
  [[nodiscard]] bool held() const { return held_; }

 private:
  std::uint64_t window_;
  bool held_ = false;
  std::vector<std::uint64_t> owed_;  // by node: came and not granted again
};

}  // namespace ds::launcher
