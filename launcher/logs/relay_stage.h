// The last stage: puts prefixes before lines, keeps lines whole, and queues them for the screen.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/rank_prefixes.h"
#include "launcher/logs/screen.h"

namespace ds::launcher {

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
