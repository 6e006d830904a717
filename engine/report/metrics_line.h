// parse_metrics_line(): one line of metrics.jsonl as a step, a validation or a checkpoint.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/step_phases.h"

namespace ds::report {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// The figures of a step that have a curve.
enum class Figure : std::uint8_t { loss, lr, grad_norm, loss_scale, tokens_per_s, skipped };
inline constexpr std::size_t kFigures = 6;
/// Keys of metrics.jsonl, in the order of Figure.
inline constexpr std::array<std::string_view, kFigures> kFigureKeys{
    "loss", "lr", "grad_norm", "loss_scale", "tokens_per_s", "skipped_steps"};

/// Where a line stands on the three horizontal axes. `tokens` and `elapsed_s` are NaN when absent.
struct Position {
  std::int64_t step = 0;
  double tokens = kNoNumber, elapsed_s = kNoNumber;
};

/// A logged step. Numbers that are absent or not finite are NaN.
struct StepLine {
  Position at;
  std::array<double, kFigures> figures{};  // by Figure
  int slowest = -1;                        // rank; -1: no phases
  std::array<float, kStepPhases> phases{};

  [[nodiscard]] double of(Figure figure) const { return figures[static_cast<std::size_t>(figure)]; }
};

struct ValidationLine {
  Position at;
  double loss = kNoNumber;
  std::string set{};  // empty: the set has no name
};

struct SaveLine {
  Position at;
  double bytes = 0, stall_s = 0, written_s = 0;
};

/// An epoch of the job begins: its lines follow, and steps may begin again at an earlier one.
struct EpochLine {};
/// A line of a kind that this version does not know.
struct OtherLine {};
/// A line that is not a JSON object, or has no step from 1 to 2^53.
struct BrokenLine {};

using MetricsLine = 
    std::variant<StepLine, ValidationLine, SaveLine, EpochLine, OtherLine, BrokenLine>;

/// Keys that are not known are passed over, so that lines of newer versions can be read. Time of an
/// unknown phase counts as `other`.
MetricsLine parse_metrics_line(std::string_view line);

}  // namespace ds::report
