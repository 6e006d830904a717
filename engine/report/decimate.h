// Decimation: fewer points than lines, with the least and the most of each column, so that spikes
// stay visible.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/report/metrics_line.h"

namespace ds::report {

/// Consecutive lines [begin, end) that share a column of a chart; never empty.
struct Column {
  std::size_t begin = 0, end = 0;
};

/// Cuts lines with rising steps into at most `most` columns of equal width in steps, without empty
/// ones. Up to `most` lines have a column each.
std::vector<Column> columns_of(std::span<const StepLine> lines, std::size_t most);

/// Returns the index of the line that stands for a column on the horizontal axis: its middle one,
/// but the very first and last line for the first and last column, so that a curve has its true
/// ends.
std::size_t line_of(std::span<const StepLine> lines, const Column& column);

/// Mean, least and most of one figure. A column without a finite number has NaN.
struct Curve {
  std::vector<double> mean, least, most;
  [[nodiscard]] bool has_numbers() const;
};
using FigureOf = std::function<double(const StepLine&)>;
Curve curve_of(std::span<const StepLine> lines, std::span<const Column> columns,
               const FigureOf& figure);

}  // namespace ds::report
