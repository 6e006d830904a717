// Exchanges replicated states after a load, so that the whole job reads every byte of a file once.
#pragma once

#include "engine/execute/executor.h"
#include "engine/program/passes.h"

namespace ds {

/// Completes weights that are whole on every rank and, at stage 0, all states. Before the call
/// every rank has filled its part (even_share()) of the values in memory. Collective. Errors:
/// Error{comm}.
void share_states(const Program& step, const ShardSpec& spec, const Executor& executor,
                  Group& world, bool with_moments);

}  // namespace ds
