#include "engine/report/join_parts.h"

#include <algorithm>
#include <cmath>

namespace ds::report {
namespace {

template <class Line>
void drop_from(std::vector<Line>& lines, std::int64_t step) {
  std::erase_if(lines, [step](const Line& line) { return line.at.step >= step; });
}

/// Returns the first step of a part; 0 without lines. The first step of a process is always logged.
std::int64_t first_step(const RunPart& part) {
  return part.steps.empty() ? 0 : part.steps.front().at.step;
}

double latest(const JoinedRun& run) {
  double time = 0;
  for (const StepLine& line : run.steps)
    if (line.at.elapsed_s > time) time = line.at.elapsed_s;
  return time;
}

template <class Line>
void append(std::vector<Line>& to, const std::vector<Line>& from, double tokens, double seconds) {
  for (Line line : from) {
    line.at.tokens += tokens;
    line.at.elapsed_s += seconds;
    to.push_back(std::move(line));
  }
}

}  // namespace

double tokens_at(std::span<const StepLine> steps, std::int64_t step) {
  const auto after =
      std::ranges::upper_bound(steps, step, {}, [](const StepLine& line) { return line.at.step; });
  if (after == steps.begin()) return steps.empty() ? kNoNumber : 0;
  const Position& last = std::prev(after)->at;
  if (last.step == step || last.step <= 0) return last.tokens;
  const double each = last.tokens / static_cast<double>(last.step);
  return last.tokens + each * static_cast<double>(step - last.step);
}

JoinedRun join_parts(std::span<const RunPart> parts) {
  JoinedRun run;
  double time_before = 0;
  for (const RunPart& part : parts) {
    const std::int64_t first = first_step(part);
    if (first == 0) continue;  // It ended before its first step.
    time_before = std::max(time_before, latest(run));
    if (!run.steps.empty()) {
      const std::int64_t last = run.steps.back().at.step;
      run.resumes.push_back({first - 1, std::max<std::int64_t>(last - first + 1, 0)});
    }
    drop_from(run.steps, first);
    drop_from(run.validations, first);
    drop_from(run.saves, first);
    const double tokens = run.steps.empty() ? 0 : tokens_at(run.steps, first - 1);
    append(run.steps, part.steps, tokens, time_before);
    append(run.validations, part.validations, tokens, time_before);
    append(run.saves, part.saves, tokens, time_before);
  }
  for (ValidationLine& line : run.validations) line.at.tokens = tokens_at(run.steps, line.at.step);
  for (SaveLine& line : run.saves) line.at.tokens = tokens_at(run.steps, line.at.step);
  return run;
}

}  // namespace ds::report
