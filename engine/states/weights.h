// Hashes the master weights of a training, however they are split and stored.
#pragma once

#include <string>

#include "engine/execute/executor.h"
#include "engine/program/freeze.h"
#include "engine/program/passes.h"

namespace ds {

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
