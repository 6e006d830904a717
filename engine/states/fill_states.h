// Fills all weights and states of a rank from a source, before the first step.
#pragma once

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/states/state_source.h"

namespace ds {

/// What the memory of the states contains before it is filled. New memory is zero, and its pages
/// should not be touched before they are needed. An earlier fill, even one that failed, may have
/// left states there.
enum class StatesBefore : std::uint8_t { zeros, any };

/// Fills master weights, moments and weights of this rank from `source`, with up to `threads`
/// threads if the source allows it. States that the source lacks are zeros afterwards.
/// Errors: those of the source; of several threads', that of the first parameter group.
void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream,
                 int threads, StatesBefore before = StatesBefore::zeros);

}  // namespace ds
