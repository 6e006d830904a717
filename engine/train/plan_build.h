// What the planner (engine/plan) asks of the trainer: its programs and their places.
#pragma once

#include "engine/plan/job_plan.h"
#include "engine/train/programs.h"

namespace ds {

/// Builds as the trainer does.
BuildRank rank_builder(WorkspaceBytes workspace);

/// The step's program of one rank after a pass ("build", "differentiate", "recompute", "shard"), as
/// text; after "place" with the offset of every value. Errors: Error{usage} naming the passes when
/// there is no such pass.
std::string program_after(std::string_view pass, const TrainConfig& config, int rank,
                          int world_size, const WorkspaceBytes& workspace);

}  // namespace ds
