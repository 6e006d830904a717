// After a load: what all ranks have was read by each in part, and comes to the others over the
// wire, so that a file's bytes are read once by the whole job.
#pragma once

#include "engine/execute/executor.h"
#include "engine/program/passes.h"

namespace ds {

/// Weights that are whole on every rank, and at stage 0 all states: every rank has filled in its
/// part (rank_ranges()) of what lies in memory, and gets the rest. Collective. Errors: Error{comm}.
void share_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                  Group& world, bool with_moments);

}  // namespace ds
