// join_parts(): the curves of a job over all its processes, as if it had never been interrupted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/report/run_part.h"

namespace ds::report {

/// The process began behind `step` (0: from new weights); `lost` logged steps were done again.
struct Resume {
  std::int64_t step = 0;
  std::int64_t lost = 0;  // steps that the process before had logged after `step`
};

struct JoinedRun {
  std::vector<StepLine> steps;  // steps rise
  std::vector<ValidationLine> validations;
  std::vector<SaveLine> saves;
  std::vector<Resume> resumes;  // in the order of time
};

/// A part replaces what older parts have of its first step and of later ones. The tokens of a part
/// follow those of the step that it resumed. Its time follows all of the time before, because
/// steps that were lost took time, too. Time between two processes is not counted.
JoinedRun join_parts(std::span<const RunPart> parts);

/// Returns the tokens at a step: those of the nearest line at or before it, and as many per step as
/// before. NaN without lines.
double tokens_at(std::span<const StepLine> steps, std::int64_t step);

}  // namespace ds::report
