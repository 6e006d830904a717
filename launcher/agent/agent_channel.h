// The agent's end of its channel: frames in, frames out; control frames overtake output that waits.
#pragma once

#include <deque>
#include <optional>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Never blocks. Threads: one.
/// Frames that no one waits for (a start, an end that is no failure, the end of a stream) stay up
/// to kPatience for company: each write wakes an sshd and the root. Every other frame takes them
/// along.
class AgentChannel {
 public:
  static constexpr std::chrono::milliseconds kPatience{20};

  AgentChannel(int in, int out);

  /// Reads what is there; false at the end of the channel.
  bool read_some();
  std::optional<Frame> next() { return decoder_.next(); }
  [[nodiscard]] const std::optional<std::string>& error() const { return decoder_.error(); }

  /// Goes with the first frame.
  void send_text(std::string_view text);
  /// Overtakes waiting output. Written by the next flush: a turn of the loop makes one write of all.
  void send_control(const Envelope& envelope, const Message& message);
  /// Goes after all that waits: Bye promises that no output is missing.
  void send_last(const Envelope& envelope, const Message& message);
  /// Writes through if nothing waits; keeps a copy of what the system does not take.
  void send_output(const Envelope& envelope, const Output& output);
  /// Writes all that waits, as far as the system takes it.
  void flush();
  /// The same, unless all of it may still wait.
  void flush_due(Clock::time_point now);
  /// When flush_due has something to do at the latest; max() if it has nothing to do by itself.
  [[nodiscard]] Clock::time_point wake_at() const {
    return held_until_.value_or(Clock::time_point::max());
  }

  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool broken() const { return broken_; }
  /// Output bytes that wait; whoever makes output stops above some limit.
  [[nodiscard]] std::size_t output_waiting() const { return output_waiting_; }
  [[nodiscard]] bool anything_waiting() const {
    return !broken_ && (!current_.empty() || !control_.empty() || !output_.empty());
  }
  /// It waits for the system, not for company.
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
  std::optional<Clock::time_point> held_until_;  // all that waits may wait so long
  Bytes current_;                                // frames half written stay in front
  std::size_t written_ = 0;
  std::deque<Bytes> control_;
  std::deque<Bytes> output_;
  std::size_t output_waiting_ = 0;
};

}  // namespace ds::launcher
