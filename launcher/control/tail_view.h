// View of a job's output at a client: prefixes lines as the job's terminal does and begins with the
// last kept lines. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/control/messages.h"
#include "launcher/logs/line_relay.h"

namespace ds::launcher {

class TailView {
 public:
  /// `lines`: number of kept lines to show. `one_screen`: as for LineRelay.
  TailView(int ranks, std::size_t lines, bool one_screen);

  /// Keeps the output before caught(), and appends it to `to` afterwards.
  void output(const RankOutput& piece, RelayOutput to);
  void skipped(const Skipped& gap, RelayOutput to);
  /// Shows the last of the kept lines; the job has sent all that it kept.
  void caught(RelayOutput to);
  /// Ends the view.
  void finish(RelayOutput to);

 private:
  struct Part {  // text of one stream, in display order
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
