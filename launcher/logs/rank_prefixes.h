// The names of ranks, and what a prefix template makes of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/logs/prefix.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

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
