// A job's output as a client shows it: prefixed as on the job's own terminal, the last lines of
// what was kept first. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/control/messages.h"
#include "launcher/logs/line_relay.h"

namespace ds::launcher {

class TailView {
 public:
  /// `lines`: how many of those kept are shown. `one_screen` as for LineRelay.
  TailView(int ranks, std::size_t lines, bool one_screen);

  /// Before caught(): it is kept. After it: it is appended to `to`.
  void output(const RankOutput& piece, RelayOutput to);
  void skipped(const Skipped& gap, RelayOutput to);
  /// All that the job had kept has come: its last lines are shown.
  void caught(RelayOutput to);
  /// The end of the view.
  void finish(RelayOutput to);

 private:
  struct Part {  // text of one stream, in the order of the screen
    int stream = 1;
    std::string text{};
  };
  void relay(const RankOutput& piece, RelayOutput to);
  void keep(int stream, OutputBuffer& text);

  int ranks_;
  std::size_t lines_;
  bool live_ = false;
  LineRelay relay_;
  OutputBuffer kept_out_, kept_err_;
  std::vector<Part> kept_;
};

}  // namespace ds::launcher
