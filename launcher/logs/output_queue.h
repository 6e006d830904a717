// Writes to standard output and standard error from a thread of its own, so that a slow reader
// stops nobody else: signals and frames are handled meanwhile.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "launcher/logs/output_buffer.h"

namespace ds::launcher {

class OutputQueue {
 public:
  /// More than this queued: whoever fills the queue should pause; below the second: go on.
  static constexpr std::size_t kHigh = std::size_t{8} << 20;
  static constexpr std::size_t kLow = std::size_t{2} << 20;

  /// `on_change` is called from the writing thread when the queue falls below kLow, is empty, or
  /// broke. The descriptors stay the caller's.
  OutputQueue(int out_fd, int err_fd, std::function<void()> on_change);
  /// Does not wait for what is still queued: a reader that never reads must not keep the launcher.
  /// Of standard error what fits is written.
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  /// Takes what is in `buffer` and leaves it empty. Order: as pushed, over both streams.
  void push(int stream, OutputBuffer& buffer);
  [[nodiscard]] std::size_t queued() const;
  /// Why writing failed (errno; 0: it has not): the reader is gone, or the disk is full. What
  /// follows is dropped.
  [[nodiscard]] int broken(int stream) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher
