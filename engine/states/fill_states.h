// Fills all weights and states of a rank from a source, before the first step.
#pragma once

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/states/state_source.h"

namespace ds {

/// Fills master weights, moments and weights of this rank from `source`, with up to `threads`
/// threads if the source allows it. States that the source lacks stay zeros. Call it once.
/// Errors: those of the source; of several threads', that of the first parameter group.
void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream,
                 int threads);

}  // namespace ds
