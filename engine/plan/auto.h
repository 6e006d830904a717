// Values "auto" that the plan decides: what fits with the least extra work.
#pragma once

#include "engine/plan/solve.h"

namespace ds {

/// Whether `config` leaves something to resolve_auto().
bool has_auto(const TrainConfig& config);

/// The config with every such value chosen; only keys that decide no bit are ever chosen.
/// recompute.policy: the least that keeps this rank within the limits, or block. Pure but for
/// `build`; equal requests give equal configs, on every rank.
TrainConfig resolve_auto(const SolveRequest& request, const BuildRank& build);

}  // namespace ds
