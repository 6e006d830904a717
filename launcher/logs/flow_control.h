// Counts how much output each node may still send, and grants credit: the first stage of output.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Grants each node as much as arrived from it, unless grants are held back. So at most window()
/// bytes of a node's frames are in transit or wait here unwritten.
class CreditBook {
 public:
  /// The sum of all windows, up to 1,024 nodes. Memory can be four times that: libssh keeps up to
  /// three copies of a packet (32 KiB) and never frees their room.
  static constexpr std::uint64_t kTotal = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kLeast = std::uint64_t{16} << 10;
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 20;
  static constexpr std::uint64_t kMostInFrame = std::uint64_t{256} << 10;

  /// Returns the bytes of text that a node puts into one frame when its first grant is `window`.
  /// Promise: once all of its window has arrived here, a node has credit for a frame, although
  /// took() may still owe it some.
  static constexpr std::uint64_t frame_of(std::uint64_t window) {
    return std::min(window / 4, kMostInFrame);
  }

  explicit CreditBook(std::size_t nodes)
      : window_(std::clamp(kTotal / std::max<std::size_t>(nodes, 1), kLeast, kMost)) {}

  /// Returns the first grant of every node.
  [[nodiscard]] std::uint64_t window() const { return window_; }

  /// Counts bytes that arrived from a node, with headers. Returns the node's next grant, if any.
  std::optional<std::uint64_t> took(std::size_t node, std::uint64_t bytes) {
    if (node >= owed_.size()) owed_.resize(node + 1);
    std::uint64_t& owed = owed_[node];
    owed += bytes;
    if (held_ || owed < window_ / 4) return std::nullopt;
    return std::exchange(owed, 0);
  }
  void hold() { held_ = true; }
  /// Ends hold(). Returns the grant of each node that is owed one.
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
  std::vector<std::uint64_t> owed_;  // by node: arrived and not granted again
};

/// Grants each node a window, then as much as arrives from it, unless grants are held back because
/// the reader or the log disk is slow.
class FlowControl {
 public:
  using OnCredit = std::function<void(int node, const Credit& credit)>;

  FlowControl(std::size_t nodes, OnCredit on_credit)
      : book_(nodes), on_credit_(std::move(on_credit)) {}

  /// Returns whether this output used credit of its node: lines of the agent and the last lines of
  /// ranks that are not shown need none.
  static bool uses_credit(const Output& output) {
    return output.rank != -1 && (output.flags & Output::kTail) == 0;
  }

  /// The agent of `node` has received its Spec: grants the window, once.
  void prepared(int node) {
    const auto index = static_cast<std::size_t>(node);
    if (index >= has_window_.size()) has_window_.resize(index + 1);
    if (!has_window_[index]) on_credit_(node, {book_.window()});
    has_window_[index] = true;
  }
  /// Output arrived from `node`. `came`: bytes of text that its agent sent.
  void took(int node, const Output& output, std::size_t came) {
    some_came_ = true;
    if (!uses_credit(output)) return;
    if (const auto grant = book_.took(static_cast<std::size_t>(node), kOutputHeaderBytes + came))
      on_credit_(node, {*grant});
  }

  void hold() { book_.hold(); }
  void release() {
    for (const auto& [node, bytes] : book_.release()) on_credit_(static_cast<int>(node), {bytes});
  }
  [[nodiscard]] bool held() const { return book_.held(); }
  /// Tells the agents to drop the output that they hold back; they still need credit for more.
  void discard() {
    for (std::size_t node = 0; node < has_window_.size(); ++node)
      if (has_window_[node]) on_credit_(static_cast<int>(node), {0, true});
  }

  /// Returns whether output arrived since the last call, or agents hold some back: what they
  /// report next is behind it.
  [[nodiscard]] bool still_busy() { return std::exchange(some_came_, false) || book_.held(); }

 private:
  CreditBook book_;
  OnCredit on_credit_;
  std::vector<bool> has_window_;  // by node
  bool some_came_ = false;
};

}  // namespace ds::launcher
