#include "engine/report/decimate.h"

#include <algorithm>
#include <cmath>

namespace ds::report {

std::vector<Column> columns_of(std::span<const StepLine> lines, std::size_t most) {
  std::vector<Column> columns;
  if (lines.empty() || most == 0) return columns;
  const auto first = static_cast<double>(lines.front().at.step);
  const double width = static_cast<double>(lines.back().at.step) - first + 1;
  const bool has_each = lines.size() <= most;
  std::size_t current = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double share = (static_cast<double>(lines[i].at.step) - first) / width;
    const std::size_t column =
        has_each ? i
                 : std::min(static_cast<std::size_t>(share * static_cast<double>(most)), most - 1);
    if (columns.empty() || column != current) columns.push_back({i, i});
    current = column;
    columns.back().end = i + 1;
  }
  return columns;
}

std::size_t line_of(std::span<const StepLine> lines, const Column& column) {
  if (column.begin == 0) return 0;
  if (column.end == lines.size()) return lines.size() - 1;
  return (column.begin + column.end - 1) / 2;
}

bool Curve::has_numbers() const {
  return std::ranges::any_of(mean, [](double value) { return std::isfinite(value); });
}

Curve curve_of(std::span<const StepLine> lines, std::span<const Column> columns,
               const FigureOf& figure) {
  Curve curve;
  for (const Column& column : columns) {
    double sum = 0, least = kNoNumber, most = kNoNumber;
    std::size_t count = 0;
    for (const StepLine& line : lines.subspan(column.begin, column.end - column.begin)) {
      const double value = figure(line);
      if (!std::isfinite(value)) continue;
      sum += value;
      least = count == 0 ? value : std::min(least, value);
      most = count == 0 ? value : std::max(most, value);
      ++count;
    }
    curve.mean.push_back(count == 0 ? kNoNumber : sum / static_cast<double>(count));
    curve.least.push_back(least);
    curve.most.push_back(most);
  }
  return curve;
}

}  // namespace ds::report
