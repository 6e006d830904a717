// Runs the planner with the memory of this machine.
#include "engine/train/plan_launch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/units.h"
#include "engine/comm/pieces.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kMemoryPoll{50};

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

AutoChoice plan_within(const MemoryLimits& limits, const TrainConfig& config,
                       const LaunchPlace& place, const WorkspaceBytes& workspace) {
  const int slots = std::max(1, place.local_ranks);
  const BuildRank build = rank_builder(workspace);
  const SolveRequest request{.config = config,
                             .cluster = {.nodes = (place.world_size + slots - 1) / slots,
                                         .slots = slots,
                                         .ranks = place.world_size},
                             .rank = place.rank,
                             .order_given = place.order_given,
                             .limits = limits};
  require_possible(request, build);
  AutoChoice chosen = resolve_auto(request, build);
  require_fit(with_config(request, chosen.config), build);
  return chosen;
}

/// Waits until another number of bytes of the device is free, or the deadline passes.
void await_device_memory(const Device& device, std::int64_t free, Deadline deadline) {
  while (!deadline.passed() && static_cast<std::int64_t>(device.free_bytes(Tier::device)) == free)
    std::this_thread::sleep_for(kMemoryPoll);
}

}  // namespace

// Drivers free the memory of a process that was killed some time after its end.
AutoChoice plan_launch(const TrainConfig& config, const LaunchPlace& place,
                       const WorkspaceBytes& workspace, const Device& device,
                       const std::function<void(const std::string&)>& say) {
  const Deadline deadline = Deadline::after(place.patience);
  for (bool is_told = false;; is_told = true) {
    MemoryLimits limits = limits_of(config, place, device);
    try {
      return plan_within(limits, config, place, workspace);
    } catch (const Error&) {
      const bool may_come = place.is_here && !device.is_host() && config.device.memory == 0;
      if (!may_come || deadline.passed()) throw;
    }
    const std::int64_t free = *std::exchange(limits.device, std::nullopt);
    if (!is_told) {
      plan_within(limits, config, place, workspace);  // throws if something else is lacking
      say(
          fmt::format("{} of the device's memory are free, which is too little: waiting up to "
                      "{:.0f} s for memory that the ranks of the last epoch still hold",
                      format_bytes(free), seconds_of(place.patience)));
    }
    await_device_memory(device, free, deadline);
  }
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
