// The stage that folds equal lines of many ranks into one line with their numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/logs/line_fold.h"
#include "launcher/logs/relay_stage.h"

namespace ds::launcher {

/// Standard output and standard error are folded apart.
class FoldStage final : public OutputStage {
 public:
  FoldStage(const RankPrefixes& prefixes, const LineClock& clock, RelayStage& next)
      : prefixes_(prefixes), clock_(clock), next_(next) {}

  /// The ranks start (again), under the names that the prefixes have now. `shown` by rank: 1
  /// stdout, 2 stderr, added up.
  void start(const std::vector<std::uint8_t>& shown) {
    for (const int stream : {1, 2}) {
      const auto index = static_cast<std::size_t>(stream - 1);
      std::vector<bool> writes;
      for (const std::uint8_t streams : shown) writes.push_back((streams & stream) != 0);
      folds_[index].start(writes);
      last_[index] = {};
    }
    next_.push();
  }
  void take(const Output& output) override {
    if (output.rank == -1) return next_.take(output);
    LineFold& fold = folds_[output.stream - 1U];
    const Clock::time_point at{std::chrono::nanoseconds(output.time)};
    const bool last = (output.flags & Output::kLast) != 0;
    // ended() completes an unfinished last line, so that it is folded too.
    const auto flags = static_cast<std::uint8_t>(last ? 0 : output.flags);
    fold.add(output.rank, flags, text_of(output), at, Clock::now());
    if (last) fold.ended(output.rank, at, Clock::now());
    next_.push();
  }
  void finish() override {
    for (LineFold& fold : folds_) fold.flush();
    next_.finish();
  }
  /// When tick() has something to do.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const {
    const auto out = folds_[0].wake_at();
    const auto err = folds_[1].wake_at();
    return out && err ? std::min(out, err) : out ? out : err;
  }
  void tick(Clock::time_point now) {
    for (LineFold& fold : folds_) fold.tick(now);
    next_.push();
  }

 private:
  struct Prefix {  // of the last line that came out
    std::vector<int> ranks{};
    Clock::time_point at{};
    std::string text{};
  };
  void emit(int stream, const FoldedLine& line) {
    Prefix& last = last_[static_cast<std::size_t>(stream - 1)];
    const bool same = std::ranges::equal(last.ranks, line.ranks) &&
                      (line.first == last.at || !prefixes_.has_time());
    if (!same) {
      last.text = prefixes_.of(line.ranks, stream, clock_.of(line.first));
      last.ranks.assign(line.ranks.begin(), line.ranks.end());
      last.at = line.first;
    }
    const int rank = line.ranks.size() == 1 ? line.ranks.front() : -1;
    next_.line(rank, stream, line.text, last.text);
  }

  const RankPrefixes& prefixes_;
  const LineClock& clock_;
  RelayStage& next_;
  std::array<LineFold, 2> folds_{LineFold([this](const FoldedLine& line) { emit(1, line); }),
                                 LineFold([this](const FoldedLine& line) { emit(2, line); })};
  std::array<Prefix, 2> last_;
};

}  // namespace ds::launcher
