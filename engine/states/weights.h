// Fills all weights and states of a rank, and hashes the master weights.
// The hash does not depend on how weights are split and stored.
#pragma once

#include <string>

#include "engine/execute/executor.h"
#include "engine/program/freeze.h"
#include "engine/program/passes.h"
#include "engine/states/state_source.h"

namespace ds {

/// Fills master weights, moments and weights of this rank from `source`. States that the source
/// lacks stay zeros. Call it once.
void fill_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                 TileFiles* files, StateSource& source, Kernels& kernels, Stream& stream);

/// Returns the digest of the leaves (leaf_digest.h) of all fp32 master weights on rank 0, the same
/// for any division among ranks, and an empty text on all others. Collective.
std::string weights_hash(const Program& step, const ShardSpec& spec, const Executor& executor,
                         TileFiles* files, Group& world, Clock::duration timeout);

/// Returns the number of parameters, frozen ones included.
[[nodiscard]] inline std::int64_t parameter_count(const Program& program) {
  const TrainedCount count = trained_count(program);
  return count.trained + count.frozen;
}

}  // namespace ds
