// The last stage's way out: standard output and standard error, and the reader behind them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_queue.h"

namespace ds::launcher {

/// Threads: one; `on_change` is called from another one, as OutputQueue does it.
class Screen {
 public:
  Screen(int out_fd, int err_fd, std::function<void()> on_change)
      : queue_(out_fd, err_fd, std::move(on_change)) {}

  /// Where formatted text is appended; push() hands it on.
  RelayOutput buffers() { return {out_, err_}; }
  void push() {
    queue_.push(1, out_);
    queue_.push(2, err_);
  }

  /// From now on nobody waits for a slow reader. Returns false if that was so before.
  bool leave_slow_reader() { return std::exchange(waits_, false); }
  [[nodiscard]] bool waits_for_reader() const { return waits_; }
  /// More is queued than should be.
  [[nodiscard]] bool is_full() const { return queue_.queued() > OutputQueue::kHigh; }
  /// Little is queued.
  [[nodiscard]] bool is_low() const { return queue_.queued() < OutputQueue::kLow; }
  /// The ranks should wait for the reader; with `was`, they do already, and should until little is
  /// queued.
  [[nodiscard]] bool is_behind(bool was) const {
    return waits_ && queue_.queued() > (was ? OutputQueue::kLow : OutputQueue::kHigh);
  }
  /// Everything is written, or nobody waits for it.
  [[nodiscard]] bool written() const { return queue_.queued() == 0 || (!waits_ && is_full()); }
  /// Why standard output cannot be written, once it cannot; empty: its reader has gone.
  [[nodiscard]] std::optional<std::string> closed() const {
    const int error = queue_.broken(1);
    if (error == 0) return std::nullopt;
    return error == EPIPE ? std::string() : std::generic_category().message(error);
  }

 private:
  OutputBuffer out_, err_;
  bool waits_ = true;
  OutputQueue queue_;  // last: its thread calls on_change until it is gone
};

}  // namespace ds::launcher
