// Templates of line prefixes, and what they make of the names of ranks and the time. Pure, except
// LineClock::start.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// The values of the fields for one rank.
struct RankName {
  int rank = 0;
  int local_rank = 0;
  int node_rank = 0;
  std::string node{};   // as in the hostfile
  std::string host{};   // as the machine calls itself
  std::string group{};  // of the program
};

/// When a line was written, on the clock of the launcher's machine.
struct LineTime {
  std::chrono::system_clock::time_point wall{};
  std::chrono::nanoseconds elapsed{};  // since the ranks were started
};

/// A template such as `[{rank}] ` or `{time} {node}:{rank} `; `{{` and `}}` are braces.
class PrefixTemplate {
 public:
  static constexpr std::string_view kDefault = "[{rank}] ";

  /// Errors:  Error{usage} naming an unknown field, and the known ones.
  static PrefixTemplate parse(std::string_view text);

  /// Returns whether a field depends on when a line was written.
  [[nodiscard]] bool has_time() const;
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  /// Returns this template with `{time} ` before it.
  [[nodiscard]] PrefixTemplate with_time_first() const;
  /// Returns the prefix of a line of one rank or of several: numbers as ranges, names folded
  /// (`node[0-3]`). `stream` 1 or 2.
  [[nodiscard]] std::string render(std::span<const RankName* const> ranks, int stream,
                                   const LineTime& time) const;

 private:
  struct Field;
  struct Part {
    const Field* field = nullptr;  // null: a literal
    std::string text{};            // of a literal
  };
  static const Field kFields[9];
  static const Field& field_named(std::string_view name, std::string_view whole);
  std::vector<Part> parts_;
};

/// Returns a time as 2026-10-01T12:34:56.789, in the local time zone.
std::string time_text(std::chrono::system_clock::time_point time);
/// Returns `prefix` inside the escape sequences of the rank's color.
std::string coloured(std::string_view prefix, int rank);

/// Wall time and time since the start for readings of the steady clock: the wall clock is read
/// once, so that setting it does not disturb the order of lines.
class LineClock {
 public:
  void start() {
    started_ = Clock::now();
    started_wall_ = std::chrono::system_clock::now();
  }
  [[nodiscard]] Clock::time_point started() const { return started_; }
  [[nodiscard]] LineTime of(Clock::time_point at) const {
    const auto elapsed = std::max(at - started_, Clock::duration::zero());
    return {
        started_wall_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(elapsed),
        elapsed};
  }
  [[nodiscard]] LineTime of(const Output& output) const {
    return of(Clock::time_point(std::chrono::nanoseconds(output.time)));
  }

 private:
  Clock::time_point started_ = Clock::now();
  std::chrono::system_clock::time_point started_wall_ = std::chrono::system_clock::now();
};

class RankPrefixes {
 public:
  /// `color`: of stdout and stderr.
  RankPrefixes(PrefixTemplate prefix, bool color_out, bool color_err)
      : prefix_(std::move(prefix)), color_{color_out, color_err} {}

  /// By rank.
  void set_names(std::vector<RankName> names) { names_ = std::move(names); }
  [[nodiscard]] std::size_t ranks() const { return names_.size(); }
  [[nodiscard]] bool has_time() const { return prefix_.has_time(); }

  /// Returns the prefix of a line that `ranks` wrote on `stream` (1 or 2); in the color of the
  /// rank if it is one alone.
  [[nodiscard]] std::string of(std::span<const int> ranks, int stream, const LineTime& time) const {
    std::vector<const RankName*> names;
    for (const int rank : ranks) names.push_back(&names_[static_cast<std::size_t>(rank)]);
    std::string prefix = prefix_.render(names, stream, time);
    const bool in_color = color_[stream - 1] && !prefix.empty() && names.size() == 1;
    return in_color ? coloured(prefix, names.front()->rank) : prefix;
  }
  /// Returns the prefix of one rank without color.
  [[nodiscard]] std::string plain(int rank, int stream, const LineTime& time) const {
    const RankName* const name = &names_[static_cast<std::size_t>(rank)];
    return prefix_.render({&name, 1}, stream, time);
  }
  /// Returns the prefixes of all streams, as LineRelay takes them.
  [[nodiscard]] std::vector<std::string> all(const LineTime& time) const {
    std::vector<std::string> all;
    for (int rank = 0; rank < static_cast<int>(names_.size()); ++rank)
      for (const int stream : {1, 2}) all.push_back(of({&rank, 1}, stream, time));
    return all;
  }

 private:
  PrefixTemplate prefix_;
  bool color_[2];
  std::vector<RankName> names_;
};

}  // namespace ds::launcher
