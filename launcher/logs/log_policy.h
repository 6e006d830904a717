// What the user wants to become of output and input, as one value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/logs/prefix.h"
#include "launcher/logs/show.h"

namespace ds::launcher {

enum class ColourChoice { automatic, always, never };

/// When whoever reads dslaunch's output is slower than the ranks.
enum class Backpressure {
  automatic,  // drop for a terminal, spool for anything else
  block,      // ranks wait
  spool,      // the nodes keep it; ranks wait when they are full
  drop        // the nodes keep it; the oldest lines are dropped when they are full
};

/// Whose standard input is the launcher's; the others have /dev/null.
struct StdinChoice {
  enum class Kind { none, one, all };
  Kind kind = Kind::none;
  int rank = 0;  // of Kind::one
};

struct LogPolicy {
  std::optional<PrefixTemplate> prefix;  // nothing: `[{rank}] `, and none for a job of one rank
  ShowChoice show;
  bool fold = false;
  bool timestamps = false;
  ColourChoice colour = ColourChoice::automatic;
  std::string folder;            // a file per rank there; empty: none
  bool folder_on_nodes = false;  // else on the launcher's machine
  Backpressure backpressure = Backpressure::automatic;
  std::optional<std::uint64_t> spool_bytes;  // of each node
  StdinChoice input;
  bool pty = false;  // standard output of the ranks is a terminal
};

}  // namespace ds::launcher
