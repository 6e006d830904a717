// The user's options for output and input of ranks, as one value. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/logs/prefix.h"

namespace ds::launcher {

/// The value of --show, which selects the ranks whose output is shown: `0-3,7,err`; all by default.
/// Rank numbers are checked by resolve().
class ShowChoice {
 public:
  /// Errors:  Error{usage} naming the invalid item and the accepted form.
  static ShowChoice parse(std::string_view text);

  /// Returns the streams shown, by rank: 1 stdout, 2 stderr, added up.
  /// Errors:  Error{usage} for a rank that the job does not have.
  [[nodiscard]] std::vector<std::uint8_t> resolve(int world_size) const;

 private:
  struct Range {
    int first = 0;
    int last = 0;  // -1: the last rank
  };
  std::string text_;
  bool all_ = true;
  bool errors_ = false;
  std::vector<Range> ranges_;
};

enum class ColourChoice { automatic, always, never };

/// What to do when the reader of dslaunch's output is slower than the ranks.
enum class Backpressure {
  automatic,  // drop for a terminal, spool for anything else
  block,      // ranks wait
  spool,      // nodes keep output; ranks wait when the spool is full
  drop        // nodes keep output; the oldest lines are dropped when the spool is full
};

/// Which ranks receive the launcher's standard input; the others read /dev/null.
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
  std::string folder;            // of the log files; empty: no log files
  bool folder_on_nodes = false;  // false: on the launcher's machine
  Backpressure backpressure = Backpressure::automatic;
  std::optional<std::uint64_t> spool_bytes;  // of each node
  StdinChoice input;
  bool pty = false;  // standard output of the ranks is a terminal
};

}  // namespace ds::launcher
