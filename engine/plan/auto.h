// Values "auto" that the plan decides: what fits with the least extra work.
#pragma once

#include "engine/plan/solve.h"

namespace ds {

/// Whether `config` leaves something to choose.
bool has_auto(const TrainConfig& config);

/// The configs to choose from, each with every "auto" replaced, from the least work to the least
/// memory; only keys that decide no bit differ. recompute.policy: none, selective, block.
/// zero.prefetch: one group. Buckets: whole groups, then a quarter and a sixteenth of
/// `largest_group`, in elements. Without "auto" the config itself. Pure.
std::vector<TrainConfig> auto_ladder(const TrainConfig& config, std::int64_t largest_group);

struct AutoChoice {
  TrainConfig config;
  int level = 0;  // its place in the ladder; ranks that chose differently take the last of theirs
  std::int64_t largest_group = 0;
};

/// The first of the ladder whose rank stays within the limits, else the last. Pure but for `build`;
/// equal requests give equal choices, on every rank.
AutoChoice resolve_auto(const SolveRequest& request, const BuildRank& build);

}  // namespace ds
