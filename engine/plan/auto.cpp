// resolve_auto(): tries the candidate configs in order.
#include "engine/plan/auto.h"

#include <algorithm>

namespace ds {
namespace {

constexpr int kPieces[] = {1, 4, 16};  // each bucket is the largest group divided by this

bool has_auto_bucket(const ZeroConfig& zero) {
  return zero.gather_bucket == kAuto || zero.reduce_bucket == kAuto;
}

std::vector<RecomputePolicy> policies_of(const TrainConfig& config) {
  if (config.recompute.policy != RecomputePolicy::automatic) return {config.recompute.policy};
  return {RecomputePolicy::none, RecomputePolicy::selective, RecomputePolicy::block};
}

std::int64_t largest_group(const BuiltRank& built) {
  std::int64_t largest = kLeaf;
  for (const ParamGroup& group : built.step.groups) largest = std::max(largest, group.elements);
  return largest;
}

}  // namespace

bool has_auto(const TrainConfig& config) {
  return config.recompute.policy == RecomputePolicy::automatic || has_auto_bucket(config.zero) ||
         config.zero.prefetch == kAuto;
}

std::vector<TrainConfig> auto_ladder(const TrainConfig& config, std::int64_t largest_group) {
  std::vector<TrainConfig> ladder;
  for (const RecomputePolicy policy : policies_of(config)) {
    for (const int pieces : kPieces) {
      if (pieces > 1 && !has_auto_bucket(config.zero)) break;
      TrainConfig& step = ladder.emplace_back(config);
      const std::int64_t bucket = std::max(kLeaf, largest_group / pieces);
      step.recompute.policy = policy;
      if (step.zero.gather_bucket == kAuto) step.zero.gather_bucket = bucket;
      if (step.zero.reduce_bucket == kAuto) step.zero.reduce_bucket = bucket;
      if (step.zero.prefetch == kAuto) step.zero.prefetch = 1;  // rounded up to a whole group
    }
  }
  return ladder;
}

AutoChoice resolve_auto(const SolveRequest& request, const BuildRank& build) {
  if (!has_auto(request.config)) return {.config = request.config};
  const TrainConfig first = auto_ladder(request.config, kLeaf).front();
  AutoChoice choice{
      .config = first,
      .largest_group = largest_group(build(first, request.rank, request.cluster.world_size()))};
  const std::vector<TrainConfig> ladder = auto_ladder(request.config, choice.largest_group);
  const int last = static_cast<int>(ladder.size()) - 1;
  for (; choice.level < last; ++choice.level) {
    const RankPlan plan = plan_rank(ladder[static_cast<std::size_t>(choice.level)], request.cluster,
                                    request.rank, build);
    if (excess(plan, request.limits, request.cluster.slots).empty()) break;
  }
  choice.config = ladder[static_cast<std::size_t>(choice.level)];
  return choice;
}

}  // namespace ds
