// Filling all weights and states of a rank, and the hash of the master weights: the same for every
// way of splitting and storing them.
#pragma once

#include <string>

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/states/state_source.h"

namespace ds {

/// Fills master weights, moments and weights of this rank from `source`, once; what it has not
/// stays zeros.
void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream);

/// XXH3 (128 bits) over the fp32 master weights in logical order, as 32 hexadecimal digits, on rank
/// 0; empty on the others. Collective.
std::string weights_hash(const Program& step, const ShardSpec& spec, const Executor& executor,
                         TileFiles* files, Group& world, Clock::duration timeout);

[[nodiscard]] std::int64_t parameter_count(const Program& program);

}  // namespace ds
