// Runs the planner with the memory of this machine.
#include "engine/train/plan_launch.h"

#include <algorithm>

#include "engine/comm/pieces.h"

namespace ds {
namespace {

MemoryLimits limits_of(const TrainConfig& config, const LaunchPlace& place, const Device& device) {
  MemoryLimits limits;
  if (config.device.memory > 0) limits.device = config.device.memory;
  if (config.device.host_memory > 0) limits.host_rank = config.device.host_memory;
  limits.device_is_host = !is_accelerator(config.device);
  if (place.is_here && !device.is_host() && !limits.device)
    limits.device = static_cast<std::int64_t>(device.free_bytes(Tier::device));
  if (place.is_here)
    limits.host = static_cast<std::int64_t>(device.free_bytes(Tier::host)) + place.held;
  return limits;
}

}  // namespace

AutoChoice plan_launch(const TrainConfig& config, const LaunchPlace& place,
                       const WorkspaceBytes& workspace, const Device& device) {
  const int slots = std::max(1, place.local_ranks);
  const BuildRank build = rank_builder(workspace);
  const SolveRequest request{.config = config,
                             .cluster = {.nodes = (place.world_size + slots - 1) / slots,
                                         .slots = slots,
                                         .ranks = place.world_size},
                             .rank = place.rank,
                             .order_given = place.order_given,
                             .limits = limits_of(config, place, device)};
  require_possible(request, build);
  AutoChoice chosen = resolve_auto(request, build);
  require_fit(with_config(request, chosen.config), build);
  return chosen;
}

TrainConfig agree_on_auto(const TrainConfig& given, const AutoChoice& own, Group& world,
                          Deadline deadline) {
  if (!has_auto(given)) return own.config;
  std::vector<std::byte> levels(static_cast<std::size_t>(world.size()));
  levels[static_cast<std::size_t>(world.rank())] = static_cast<std::byte>(own.level);
  world.all_gather(cut_pieces(std::span(levels), levels.size()), deadline);
  const auto level = static_cast<std::size_t>(*std::max_element(levels.begin(), levels.end()));
  return auto_ladder(given, own.largest_group)[level];
}

}  // namespace ds
