// Grants credit to nodes: the first stage of output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "launcher/logs/credit_book.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

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
