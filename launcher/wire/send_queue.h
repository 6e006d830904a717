// SendQueue: the bytes that wait to be sent on one channel. Long ones may be shared by channels.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ds::launcher {

using Bytes = std::vector<std::byte>;
/// Bytes that several channels send, so that one copy of them is in memory.
using SharedBytes = std::shared_ptr<const Bytes>;

/// Threads: one.   Errors: none.
class SendQueue {
 public:
  /// Appends bytes. They are joined with the last ones if both together have at most `join` bytes.
  void add(Bytes bytes, std::size_t join = 0) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    Chunk* last = chunks_.empty() ? nullptr : &chunks_.back();
    if (last != nullptr && !last->shared && last->own.size() + bytes.size() <= join) {
      last->own.insert(last->own.end(), bytes.begin(), bytes.end());
    } else {
      chunks_.push_back({std::move(bytes), nullptr});
    }
  }
  void add(SharedBytes bytes) {
    if (bytes->empty()) return;
    size_ += bytes->size();
    chunks_.push_back({{}, std::move(bytes)});
  }
  /// Returns the bytes to send next; empty if the queue is. Valid until sent() or clear(), and
  /// until add() with `join`.
  [[nodiscard]] std::span<const std::byte> front() const {
    if (chunks_.empty()) return {};
    const Chunk& first = chunks_.front();
    return std::span(first.shared ? *first.shared : first.own).subspan(offset_);
  }
  /// Removes `count` bytes of front().
  void sent(std::size_t count) {
    const bool all = count == front().size();
    size_ -= count;
    offset_ = all ? 0 : offset_ + count;
    if (all) chunks_.pop_front();
  }
  [[nodiscard]] bool empty() const { return chunks_.empty(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() { *this = {}; }

 private:
  struct Chunk {
    Bytes own;
    SharedBytes shared;  // else `own`
  };
  std::deque<Chunk> chunks_;
  std::size_t offset_ = 0;  // into the first chunk
  std::size_t size_ = 0;
};

}  // namespace ds::launcher
