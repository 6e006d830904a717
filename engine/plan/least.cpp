// least_plan(): parameters times bytes, by the tier that the config gives them.
#include "engine/plan/least.h"

#include <algorithm>

#include "engine/models/parameter_count.h"
#include "engine/optimizers/optimizers.h"

namespace ds {
namespace {

/// Bytes of one parameter on the rank that holds it.
struct ParameterBytes {
  double weights = 0, states = 0;
};

ParameterBytes bytes_of(const TrainConfig& config) {
  const bool is_full = config.precision.dtype == Precision::fp32;
  const bool is_split = config.precision.master == MasterWeights::split16;
  // fp32 weights are their own masters. Split masters add 2 bytes to the 2 of the weights.
  const double master = is_full ? 0 : is_split ? 2 : 4;
  const double moments = facts_of(config.optimizer.type).two_moments ? 2 : 1;
  return {.weights = is_full ? 4.0 : 2.0, .states = master + 4 * moments};
}

Tier tier_of(OffloadDevice device) {
  return device == OffloadDevice::none  ? Tier::device
         : device == OffloadDevice::cpu ? Tier::host
                                        : Tier::nvme;
}

}  // namespace

RankPlan least_plan(const TrainConfig& config, const Cluster& cluster) {
  constexpr double kGradient = 4;  // f32
  const ParameterCount count = count_parameters(config.model, config.data.seq_len);
  const double world = cluster.world_size();
  const auto stage = config.zero.stage;
  const ParameterBytes each = bytes_of(config);
  RankPlan plan;
  const auto add = [&](Tier tier, double bytes) {
    TierBytes& to = plan.tiers[static_cast<std::size_t>(tier)];
    const double most = static_cast<double>(kMostBytes - to.total);
    to.total += static_cast<std::int64_t>(std::min(bytes, most));
  };
  for (std::size_t tier = 0; tier < kTiers; ++tier) plan.tiers[tier].tier = static_cast<Tier>(tier);
  const bool is_split = stage == 3 && world > 1;
  const bool is_elsewhere = config.offload.param.device != OffloadDevice::none;
  add(tier_of(config.offload.param.device), each.weights * count.all / (is_split ? world : 1.0));
  // Only the built program knows how much is frozen.
  const bool all_train = config.train.freeze.empty() && config.lora.rank == 0;
  if (all_train)
    add(tier_of(config.offload.optimizer.device),
        each.states * count.all / (stage >= 1 ? world : 1.0));
  const double copy = is_split || is_elsewhere ? each.weights : 0;
  add(Tier::device, (copy + (all_train ? kGradient : 0)) * count.one_layer);
  return plan;
}

}  // namespace ds
