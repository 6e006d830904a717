// Standard input and output of the programs on all nodes as streams of messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launcher/copy/copy_frames.h"
#include "launcher/exec/exec_run.h"

namespace ds::launcher::copy {

/// Bytes for one node: at most Stdin::kWindow are on their way.
class NodeStream {
 public:
  using Send = exec::ProgramInput::Send;

  void start() { started_ = true; }
  void leave() { left_ = true; }
  void taken(std::uint64_t bytes) { on_way_ -= std::min(bytes, on_way_); }
  /// Queues a message. Callers that have much to send wait for room().
  void put(const CopyMessage& message) { encode(bytes_, message); }
  void put(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// Ends the stream after what is queued.
  void end() { ends_ = true; }
  [[nodiscard]] bool open() const { return started_ && !left_; }
  /// Returns how many bytes may be put and sent now.
  [[nodiscard]] std::size_t room() const {
    const std::uint64_t used = on_way_ + bytes_.size() - begin_;
    return !open() || ends_ || used >= Stdin::kWindow ? 0 : Stdin::kWindow - used;
  }
  /// Sends what the window allows.
  void flush(int node, const Send& send) {
    if (!open() || ended_) return;
    const std::uint64_t window = Stdin::kWindow - std::min(on_way_, Stdin::kWindow);
    const std::size_t count = std::min<std::uint64_t>(bytes_.size() - begin_, window);
    const bool last = ends_ && begin_ + count == bytes_.size();
    if (count == 0 && !last) return;
    send(node, {.rank = -1, .last = last, .bytes = std::span(bytes_).subspan(begin_, count)});
    on_way_ += count;
    begin_ += count;
    ended_ = last;
    if (begin_ < bytes_.size() && begin_ < kDropAt) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

 private:
  static constexpr std::size_t kDropAt = std::size_t{256} << 10;

  Bytes bytes_;
  std::size_t begin_ = 0;  // the first byte that was not sent
  std::uint64_t on_way_ = 0;
  bool started_ = false;
  bool left_ = false;
  bool ends_ = false;
  bool ended_ = false;
};

}  // namespace ds::launcher::copy
