// Lines and parts of runs for the tests of reports.
#pragma once

#include <string>

#include "engine/report/run_part.h"

namespace ds::test {

inline report::StepLine step_line(std::int64_t step, double loss, double tokens = 0,
                                  double elapsed_s = 0) {
  report::StepLine line;
  line.at = {step, tokens, elapsed_s};
  line.figures.fill(report::kNoNumber);
  line.figures[0] = loss;
  return line;
}

/// Steps `first` to `last`, each of 100 tokens and 2 seconds, counted from the part's start.
inline report::RunPart part_of(std::int64_t first, std::int64_t last, double loss = 1) {
  report::RunPart part;
  for (std::int64_t step = first; step <= last; ++step) {
    const auto done = static_cast<double>(step - first + 1);
    part.steps.push_back(step_line(step, loss, 100 * done, 2 * done));
  }
  return part;
}

}  // namespace ds::test
