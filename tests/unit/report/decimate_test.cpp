// Tests that decimation bounds the points and keeps spikes, ends and gaps.
#include "engine/report/decimate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "unit/report/lines.h"

using namespace ds::report;
using ds::test::step_line;

namespace {

double loss_of(const StepLine& line) { return line.of(Figure::loss); }

}  // namespace

TEST_CASE("report: few lines have a column each") {
  std::vector<StepLine> lines;
  for (int i = 1; i <= 10; ++i) lines.push_back(step_line(i * i, i));
  const std::vector<Column> columns = columns_of(lines, 10);
  REQUIRE(columns.size() == 10);
  const Curve curve = curve_of(lines, columns, loss_of);
  CHECK(curve.mean[3] == 4);
  CHECK(curve.least[3] == curve.most[3]);
  CHECK(columns_of({}, 10).empty());
}

TEST_CASE("report: a spike of one line in a million stays visible") {
  std::vector<StepLine> lines;
  for (int i = 1; i <= 1000000; ++i) lines.push_back(step_line(i, i == 654321 ? 99 : 1));
  lines[123456].figures[0] = kNoNumber;
  const std::vector<Column> columns = columns_of(lines, 1000);
  REQUIRE(columns.size() == 1000);
  std::size_t next = 0;
  for (const Column& column : columns) {
    CHECK(column.begin == next);
    CHECK(column.end > column.begin);
    next = column.end;
  }
  CHECK(next == lines.size());
  const Curve curve = curve_of(lines, columns, loss_of);
  CHECK(*std::max_element(curve.most.begin(), curve.most.end()) == 99);
  CHECK(curve.has_numbers());
  CHECK(line_of(lines, columns.front()) == 0);
  CHECK(line_of(lines, columns.back()) == 999999);
}

TEST_CASE("report: a column without a number is a gap") {
  const std::vector<StepLine> lines = {step_line(1, kNoNumber), step_line(2, 3)};
  const Curve curve = curve_of(lines, columns_of(lines, 5), loss_of);
  CHECK(std::isnan(curve.mean[0]));
  CHECK(std::isnan(curve.most[0]));
  CHECK(curve.mean[1] == 3);
}

TEST_CASE("report: lines far apart leave no empty columns") {
  std::vector<StepLine> lines;
  for (int i = 1; i <= 50; ++i) lines.push_back(step_line(i, i));
  lines.push_back(step_line(std::int64_t{1} << 52, 9));
  const std::vector<Column> columns = columns_of(lines, 20);
  REQUIRE(columns.size() == 2);
  CHECK(columns[0].end == 50);
}
