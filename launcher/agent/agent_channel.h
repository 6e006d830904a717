// The agent's end of the channel: reads and writes frames without blocking; control frames overtake
// waiting output.
#pragma once

#include <deque>
#include <optional>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Never blocks. Frames that nobody needs at once (a start, a good end, the end of a stream) wait
/// up to kPatience for other frames, because each write wakes an sshd and the root. Any other frame
/// sends them along.
/// Threads: one.
class AgentChannel {
 public:
  static constexpr std::chrono::milliseconds kPatience{20};

  AgentChannel(int in, int out);

  /// Reads what has arrived; returns false at the end of the channel.
  bool read_some();
  std::optional<Frame> next() { return decoder_.next(); }
  [[nodiscard]] const std::optional<std::string>& error() const { return decoder_.error(); }

  /// Queues text, for the first frame to take along.
  void send_text(std::string_view text);
  /// Queues a frame before all waiting output. The next flush writes it, so that a turn of the loop
  /// makes one write.
  void send_control(const Envelope& envelope, const Message& message);
  /// Queues a frame after all that waits: Bye promises that no output is missing.
  void send_last(const Envelope& envelope, const Message& message);
  /// Writes at once if nothing waits, and queues a copy of what the system does not take.
  void send_output(const Envelope& envelope, const Output& output);
  /// Writes what waits, as far as the system takes it.
  void flush();
  /// Does the same, unless all that waits may wait longer.
  void flush_due(Clock::time_point now);
  /// Returns when flush_due() must be called; max() if it need not be.
  [[nodiscard]] Clock::time_point wake_at() const {
    return held_until_.value_or(Clock::time_point::max());
  }

  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool broken() const { return broken_; }
  /// Returns the bytes of output that wait; callers stop above a limit.
  [[nodiscard]] std::size_t output_waiting() const { return output_waiting_; }
  [[nodiscard]] bool anything_waiting() const {
    return !broken_ && (!current_.empty() || !control_.empty() || !output_.empty());
  }
  /// Returns true if frames wait for the system.
  [[nodiscard]] bool blocked() const { return anything_waiting() && !held_until_; }

 private:
  void hold();
  void queue_output(Bytes frame);
  bool write_current();
  bool load_next();

  UniqueFd in_;
  UniqueFd out_;
  bool broken_ = false;
  Decoder decoder_;
  std::optional<Clock::time_point> held_until_;  // all that waits may wait until then
  Bytes current_;                                // partly written
  std::size_t written_ = 0;
  std::deque<Bytes> control_;
  std::deque<Bytes> output_;
  std::size_t output_waiting_ = 0;
};

}  // namespace ds::launcher
