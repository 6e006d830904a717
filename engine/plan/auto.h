// resolve_auto(): replaces values "auto" by those that fit with the least extra work.
#pragma once

#include "engine/plan/solve.h"

namespace ds {

/// Returns whether `config` leaves a value to choose.
bool has_auto(const TrainConfig& config);

/// Returns the candidate configs, each with every "auto" replaced, from the least work to the least
/// memory. Only keys that change no bit differ. recompute.policy: none, selective, block.
/// zero.prefetch: one group. Buckets: whole groups, then a quarter and a sixteenth of
/// `largest_group`, in elements. Without "auto": the config itself. Pure.
std::vector<TrainConfig> auto_ladder(const TrainConfig& config, std::int64_t largest_group);

struct AutoChoice {
  TrainConfig config;
  int level = 0;  // index of the candidate; ranks that chose differently take the highest
  std::int64_t largest_group = 0;
};

/// Chooses the first candidate whose rank stays within the limits, else the last one. Pure except
/// for `build`; equal requests give equal choices on every rank.
AutoChoice resolve_auto(const SolveRequest& request, const BuildRank& build);

}  // namespace ds
