// The output side of a job: lines of ranks and of the launcher on their way to the two streams.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/logs/last_lines.h"
#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_queue.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

struct OutputSetup {
  int world_size = 1;
  int out_fd = 1;
  int err_fd = 2;
};

/// Threads: the io_context's.
class OutputHub {
 public:
  struct Events {
    std::function<void(bool)> on_pause;  // the reader is slow: stop, or go on, reading agents
    std::function<void()> on_closed;     // nobody reads standard output any more
    std::function<void()> on_written;    // after finish(): all is written, or nobody waits for it
  };
  OutputHub(asio::io_context& io, const OutputSetup& setup, Events events);
  OutputHub(const OutputHub&) = delete;
  OutputHub& operator=(const OutputHub&) = delete;

  /// What a rank wrote. Nonsense ranks and streams are dropped.
  void take(const Output& output);
  /// A line of the launcher itself, on standard error.
  void say(std::string_view line);
  /// Hands on what take() and say() have collected.
  void push();
  /// The user has asked for the end: from now on no reader is waited for.
  void leave_slow_reader();
  /// Nothing more comes; on_written follows.
  void finish();

  [[nodiscard]] bool paused() const { return paused_; }
  /// How much others have written since a rank last wrote.
  [[nodiscard]] std::uint64_t bytes_since(int rank) const {
    return taken_ - taken_after_[static_cast<std::size_t>(rank)];
  }
  /// The last lines of a rank, for the verdict.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return last_.of(rank); }

 private:
  void on_queue_change();
  void look_at_reader();

  asio::io_context& io_;
  Events events_;
  int world_size_;
  LineRelay relay_;
  LastLines last_;
  std::uint64_t taken_ = 0;                 // bytes
  std::vector<std::uint64_t> taken_after_;  // by rank: with what it last wrote
  OutputBuffer out_, err_;
  bool paused_ = false;
  bool waits_for_reader_ = true;
  bool finished_ = false;
  OutputQueue queue_;  // last: its thread calls us until it is gone
};

}  // namespace ds::launcher
