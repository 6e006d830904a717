// The last stage: puts prefixes before lines, keeps lines whole, and queues them for the screen.
#pragma once

#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_queue.h"
#include "launcher/logs/output_stage.h"

namespace ds::launcher {

/// Standard output and standard error, and the reader behind them.
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
  /// The ranks should wait for the reader. `was`: they do already, and go on once little is queued.
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

class RelayStage final : public OutputStage {
 public:
  /// `relay` writes to one file if standard output and standard error are the same.
  RelayStage(int ranks, bool one_file, Screen& screen) : relay_(ranks, one_file), screen_(screen) {}

  /// From now on lines have prefixes: the same ones always (by rank and stream), or for each piece
  /// of output those of its time. Without this call a single rank's bytes pass unchanged.
  void set_prefixes(std::vector<std::string> prefixes) { relay_.set_prefixes(std::move(prefixes)); }
  void set_timed(const RankPrefixes& prefixes, const LineClock& clock) {
    prefixes_ = &prefixes;
    clock_ = &clock;
  }

  void take(const Output& output) override {
    if (output.rank == -1) {
      relay_.own_line(text_of(output), screen_.buffers());
    } else if (prefixes_ == nullptr) {
      relay_.batch(output.rank, output.stream, output.flags, output.bytes, screen_.buffers());
    } else {
      relay_.batch(output.rank, output.stream, output.flags, output.bytes,
                   prefixes_->of({&output.rank, 1}, output.stream, clock_->of(output)),
                   screen_.buffers());
    }
    screen_.push();
  }
  /// A line that `rank` (-1: several ranks) wrote; push() follows.
  void line(int rank, int stream, std::string_view text, std::string_view prefix) {
    relay_.line(rank, stream, text, prefix, screen_.buffers());
  }
  void push() { screen_.push(); }
  void finish() override {
    relay_.finish(screen_.buffers());
    screen_.push();
  }

 private:
  LineRelay relay_;
  Screen& screen_;
  const RankPrefixes* prefixes_ = nullptr;
  const LineClock* clock_ = nullptr;
};

}  // namespace ds::launcher
