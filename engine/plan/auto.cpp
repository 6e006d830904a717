// Tries policies from the least work upwards.
#include "engine/plan/auto.h"

namespace ds {

bool has_auto(const TrainConfig& config) {
  return config.recompute.policy == RecomputePolicy::automatic;
}

TrainConfig resolve_auto(const SolveRequest& request, const BuildRank& build) {
  TrainConfig config = request.config;
  if (!has_auto(config)) return config;
  for (const RecomputePolicy policy : {RecomputePolicy::none, RecomputePolicy::selective}) {
    config.recompute.policy = policy;
    const RankPlan plan = plan_rank(config, request.cluster, request.rank, build);
    if (excess(plan, request.limits, request.cluster.slots).empty()) return config;
  }
  config.recompute.policy = RecomputePolicy::block;
  return config;
}

}  // namespace ds
