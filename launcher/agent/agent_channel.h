// The agent's end of its channel: frames in, frames out; control frames overtake output that waits.
#pragma once

#include <deque>
#include <optional>

#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Never blocks. Threads: one.
class AgentChannel {
 public:
  AgentChannel(int in, int out);

  /// Reads what is there; false at the end of the channel.
  bool read_some();
  std::optional<Frame> next() { return decoder_.next(); }
  [[nodiscard]] const std::optional<std::string>& error() const { return decoder_.error(); }

  void send_text(std::string_view text);
  /// Overtakes waiting output.
  void send_control(const Envelope& envelope, const Message& message);
  /// Goes after all that waits: Bye promises that no output is missing.
  void send_last(const Envelope& envelope, const Message& message);
  /// Writes through if nothing waits; keeps a copy of what the system does not take.
  void send_output(const Envelope& envelope, const Output& output);
  void flush();

  [[nodiscard]] int in() const { return in_.get(); }
  [[nodiscard]] int out() const { return out_.get(); }
  [[nodiscard]] bool broken() const { return broken_; }
  /// Output bytes that wait; whoever makes output stops above some limit.
  [[nodiscard]] std::size_t output_waiting() const { return output_waiting_; }
  [[nodiscard]] bool anything_waiting() const {
    return !broken_ && (!current_.empty() || !control_.empty() || !output_.empty());
  }

 private:
  bool write_current();
  bool load_next();

  UniqueFd in_;
  UniqueFd out_;
  bool broken_ = false;
  Decoder decoder_;
  Bytes current_;  // a frame half written stays in front
  std::size_t written_ = 0;
  std::deque<Bytes> control_;
  std::deque<Bytes> output_;
  std::size_t output_waiting_ = 0;
};

}  // namespace ds::launcher
