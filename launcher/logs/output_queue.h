// Queue of output for a thread that writes it, so that a slow reader or disk does not delay signals
// and frames; and such a queue for standard output and standard error.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "launcher/logs/output_buffer.h"

namespace ds::launcher {

/// What an object shares with its writing thread.
struct WriterQueue {
  struct Piece {
    std::size_t target = 0;
    OutputBuffer bytes;
  };
  std::function<void()> on_change;
  std::mutex mutex;  // of all below but `queued`
  std::condition_variable wake;
  std::deque<Piece> pieces;
  std::optional<std::size_t> writing;  // target of the piece that is being written
  bool abandoned = false;
  std::atomic<std::size_t> queued{0};  // bytes, including those being written

  /// Takes the contents of `bytes`. Pieces of one target are joined up to `join` bytes. With
  /// `mutex` held.
  void push(std::size_t target, OutputBuffer& bytes, std::size_t join);
  /// Calls `write` with each piece, and on_change when the queue falls below OutputQueue::kLow or
  /// is empty, until the queue is abandoned.
  void run(const std::function<void(const Piece&)>& write);
  /// Writes all of `text`, even if another process made the file non-blocking. Returns 0 or errno.
  static int write_all(int fd, std::string_view text);
  /// Calls on_change, unless the queue is abandoned.
  void changed();
  void abandon();
};

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

  /// Takes the contents of `buffer` and leaves it empty. The two streams are written in the order
  /// of these calls.
  void push(int stream, OutputBuffer& buffer);
  [[nodiscard]] std::size_t queued() const;
  /// Returns the errno with which writing failed, or 0. Later output is dropped.
  [[nodiscard]] int broken(int stream) const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher
