// Progress output of a training job: one live line on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/line.h"

namespace ds {

struct Progress {
  std::int64_t step = 0, total_steps = 0;
  double loss = 0.0;
  double learning_rate = 0.0;
  std::int64_t skipped = 0;    // steps skipped since the start; 0 is not shown
  double tokens_per_s = 0.0;   // of all ranks together
  double peak_fraction = 0.0;  // share of the measured matrix peak of all ranks; 0: not measured
  double seconds_left = 0.0;
};

/// Formats "step 120/600  loss 1.842  lr 9.1e-04  18.4 k tokens/s  62 % of peak  0:41 left" in at
/// most `width` columns. Fields that do not fit are dropped whole, from the end. ASCII.
Line progress_line(const Progress& progress, int width);

/// How progress is printed. Decided once, at the start.
struct ProgressStyle {
  bool live = false;  // redraw one line instead of printing lines
  int width = 120;
};

/// Decides the style. `live_variable`: the value of DSLAUNCH_LIVE (contract.h) or empty; without
/// it, `columns` of this process's terminal count (0: unknown).
ProgressStyle progress_style(std::string_view live_variable, bool stdout_is_terminal, int columns);
/// Decides the style from this process's environment and standard output.
ProgressStyle detect_progress_style();

/// Writes lines to a descriptor, each with one write(2). Live lines end in '\r' and are padded to
/// cover the previous one; note() and finish() first move to a new line.
class ProgressWriter {
 public:
  ProgressWriter(int fd, ProgressStyle style) : fd_(fd), style_(style) {}

  [[nodiscard]] bool live() const { return style_.live; }
  void show(const Progress& progress);
  /// Prints a line that stays, above the live one.
  void note(std::string_view line);
  /// Ends the live line; later calls start a new one.
  void finish();

 private:
  void write_all(std::string_view text) const;

  int fd_;
  ProgressStyle style_;
  std::size_t shown_ = 0;  // columns of the live line on the screen
};

/// Rate and time left from (step, time) pairs, averaged over about the last 16 updates.
class RateMeter {
 public:
  /// `seconds`: since any fixed point; must not decrease.
  void update(std::int64_t step, double seconds);
  /// Returns steps per second; 0 before two updates.
  [[nodiscard]] double steps_per_s() const { return rate_; }
  [[nodiscard]] double seconds_left(std::int64_t total_steps) const;

 private:
  std::int64_t step_ = -1;
  double seconds_ = 0.0;
  double rate_ = 0.0;
};

}  // namespace ds
