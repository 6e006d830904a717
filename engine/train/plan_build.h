// Connects the planner (engine/plan) to the trainer's programs and their placement.
#pragma once

#include "engine/plan/job_plan.h"
#include "engine/train/programs.h"

namespace ds {

/// Returns a builder that makes the same programs as the trainer.
BuildRank rank_builder(WorkspaceBytes workspace);

/// Returns the text of one rank's step program after a pass ("build", "differentiate", "recompute",
/// "shard"), and after "place" also the offset of every value. Errors: Error{usage} with the names
/// of the passes if there is no such pass.
std::string program_after(std::string_view pass, const TrainConfig& config, int rank,
                          int world_size, const WorkspaceBytes& workspace);

}  // namespace ds
