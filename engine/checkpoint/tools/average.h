// Averages the weights of several checkpoints into a new checkpoint.
#pragma once

#include <string>
#include <vector>

#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/tools/verify.h"

namespace ds {

struct AverageResult {
  std::string folder{};  // OUT/step-NNNNNNNN
  std::int64_t bytes = 0;
};

/// Averages the master weights of `folders` (at least two): each element is the mean in double,
/// rounded once. Step, schedule and config are those of the last folder. Moments are left out, so
/// the result loads with checkpoint.load = "weights" and training cannot resume from it. `out` must
/// be empty or missing; the result is complete or absent. Memory: kPieceBytes per folder plus
/// three. Errors: Error{config} if tensors or shapes differ (all are listed), `out` is not empty,
/// or a piece is broken; Error{system} if the result cannot be written.
AverageResult average_checkpoints(const std::vector<std::string>& folders, const std::string& out,
                                  const VerifyProgress& progress);

}  // namespace ds
