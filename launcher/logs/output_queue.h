// Writes to standard output and standard error from a thread of its own, so that a slow reader does
// not delay signals and frames.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "launcher/logs/output_buffer.h"

namespace ds::launcher {

class OutputQueue {
 public:
  /// The caller should pause above kHigh bytes queued, and continue below kLow.
  static constexpr std::size_t kHigh = std::size_t{8} << 20;
  static constexpr std::size_t kLow = std::size_t{2} << 20;

  /// `on_change` is called from the writing thread when the queue falls below kLow, is empty, or
  /// cannot be written. The caller keeps the descriptors.
  OutputQueue(int out_fd, int err_fd, std::function<void()> on_change);
  /// Does not wait for the queue, since the reader may never read. Writes as much of standard error
  /// as can be written without waiting.
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  /// Takes the contents of `buffer` and leaves it empty. Both streams are written in the order of
  /// these calls.
  void push(int stream, OutputBuffer& buffer);
  [[nodiscard]] std::size_t queued() const;
  /// Returns the errno with which writing failed, or 0. What is pushed after a failure is dropped.
  [[nodiscard]] int broken(int stream) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher
