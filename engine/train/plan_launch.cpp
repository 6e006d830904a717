// The planner with this machine's memory.
#include "engine/train/plan_launch.h"

#include <algorithm>

#include "engine/comm/pieces.h"
#include "engine/plan/auto.h"

namespace ds {
namespace {

MemoryLimits limits_of(const TrainConfig& config, const LaunchPlace& place, const Device& device) {
  MemoryLimits limits;
  if (config.device.memory > 0) limits.device = config.device.memory;
  if (config.device.host_memory > 0) limits.host_rank = config.device.host_memory;
  limits.device_is_host = true;
  if (place.is_here) limits.host = static_cast<std::int64_t>(device.free_bytes(Tier::host));
  return limits;
}

}  // namespace

TrainConfig plan_launch(const TrainConfig& config, const LaunchPlace& place,
                        const Backend& backend) {
  const int slots = std::max(1, place.local_ranks);
  const BuildRank build = rank_builder(*backend.kernels);
  const SolveRequest request{.config = config,
                             .cluster = {.nodes = (place.world_size + slots - 1) / slots,
                                         .slots = slots,
                                         .ranks = place.world_size},
                             .rank = place.rank,
                             .order_given = place.order_given,
                             .limits = limits_of(config, place, *backend.device)};
  const TrainConfig chosen = resolve_auto(request, build);
  require_fit(with_config(request, chosen), build);
  return chosen;
}

void agree_on_auto(const TrainConfig& given, TrainConfig& chosen, Group& world, Deadline deadline) {
  if (!has_auto(given)) return;
  std::vector<std::byte> policies(static_cast<std::size_t>(world.size()));
  policies[static_cast<std::size_t>(world.rank())] =
      static_cast<std::byte>(chosen.recompute.policy);
  world.all_gather(cut_pieces(std::span(policies), policies.size()), deadline);
  chosen.recompute.policy =
      static_cast<RecomputePolicy>(*std::max_element(policies.begin(), policies.end()));
}

}  // namespace ds
