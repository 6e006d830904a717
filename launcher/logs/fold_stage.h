// The stage that folds equal lines of many ranks into one line with their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "launcher/logs/line_fold.h"
#include "launcher/logs/output_stage.h"
#include "launcher/logs/rank_prefixes.h"
#include "launcher/logs/relay_stage.h"

namespace ds::launcher {

/// Standard output and standard error are folded apart.
class FoldStage final : public OutputStage {
 public:
  FoldStage(const RankPrefixes& prefixes, const LineClock& clock, RelayStage& next)
      : prefixes_(prefixes), clock_(clock), next_(next) {}

  /// The ranks start (again), under the names that the prefixes have now. `shown` by rank: 1
  /// stdout, 2 stderr, added up.
  void start(const std::vector<std::uint8_t>& shown);
  void take(const Output& output) override;
  void finish() override;
  /// When tick() has something to do.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const;
  void tick(Clock::time_point now);

 private:
  struct Prefix {  // of the last line that came out
    std::vector<int> ranks{};
    Clock::time_point at{};
    std::string text{};
  };
  void emit(int stream, const FoldedLine& line);

  const RankPrefixes& prefixes_;
  const LineClock& clock_;
  RelayStage& next_;
  std::array<LineFold, 2> folds_{LineFold([this](const FoldedLine& line) { emit(1, line); }),
                                 LineFold([this](const FoldedLine& line) { emit(2, line); })};
  std::array<Prefix, 2> last_;
};

}  // namespace ds::launcher
