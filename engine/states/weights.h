// Fills all weights and states of a rank, and hashes the master weights.
// The hash does not depend on how weights are split and stored.
#pragma once

#include <string>

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/states/state_source.h"

namespace ds {

/// Fills master weights, moments and weights of this rank from `source`. States that the source
/// lacks stay zeros. Call it once.
void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream);

/// Returns XXH3 (128 bits) of the fp32 master weights in logical order as 32 hexadecimal digits on
/// rank 0, and an empty text on all others. Collective.
std::string weights_hash(const Program& step, const ShardSpec& spec, const Executor& executor,
                         TileFiles* files, Group& world, Clock::duration timeout);

[[nodiscard]] std::int64_t parameter_count(const Program& program);

}  // namespace ds
