// The interface of one stage on the way of output to the terminal.
#pragma once

#include <string_view>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// A stage does one thing with each piece of output and passes it to the next stage, which it was
/// given when it was made. A piece of rank -1 is a line of the launcher itself, without newline,
/// for standard error. `time` is a reading of this machine's clock.
class OutputStage {
 public:
  OutputStage() = default;
  OutputStage(const OutputStage&) = delete;
  OutputStage& operator=(const OutputStage&) = delete;
  virtual ~OutputStage() = default;

  /// `output.bytes` stays valid during the call.
  virtual void take(const Output& output) = 0;
  /// The ranks write nothing more: passes on what the stage holds, then tells the next stage.
  /// Lines of the launcher may still follow.
  virtual void finish() = 0;
};

inline std::string_view text_of(const Output& output) {
  return {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()};
}

/// A line of the launcher itself as a piece of output.
inline Output own_line(std::string_view line) {
  return {.rank = -1, .stream = 2, .bytes = std::as_bytes(std::span(line))};
}

}  // namespace ds::launcher
