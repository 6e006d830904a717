// The mean of several checkpoints' weights, as a checkpoint of its own.
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

/// The master weights of `folders` (at least two), each element the mean in double of all, rounded
/// once. Its step, schedule and config are those of the last folder; moments are left out, so it
/// loads with checkpoint.load = "weights" and no training goes on from it. Written under `out`,
/// which is empty or not there yet, complete or not at all. Memory: kPieceBytes for each folder and
/// three more. Errors: Error{config}: tensors or shapes differ (all are listed), `out` holds
/// something, a piece is broken; Error{system}: it cannot be written.
AverageResult average_checkpoints(const std::vector<std::string>& folders, const std::string& out,
                                  const VerifyProgress& progress);

}  // namespace ds
