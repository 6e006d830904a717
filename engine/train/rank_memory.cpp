// Arenas by tier, streams by use.
#include "engine/train/rank_memory.h"

namespace ds {

RankMemory::RankMemory(const PlacementPlan& plan, const RankGroups& groups, Backend& backend,
                       std::unique_ptr<TileFiles> files)
    : files_(std::move(files)) {
  for (const Tier tier : {Tier::device, Tier::host}) {
    const std::int64_t bytes = plan.of(tier).total_bytes;
    if (bytes == 0) continue;
    const auto t = static_cast<std::size_t>(tier);
    arenas_[t] = backend.device->allocate(tier, static_cast<std::size_t>(bytes));
    workplace_.memory[t] = arenas_[t]->data();
    if (files_ && tier == Tier::host)
      files_->register_memory({arenas_[t]->data(), static_cast<std::size_t>(bytes)});
  }
  workplace_.files = files_.get();
  constexpr std::array<const char*, kStreams> kNames{"compute", "gather", "reduce", "fetch",
                                                     "evict"};
  streams_[0] = backend.device->make_stream();
  for (std::size_t s = 1; s < kStreams; ++s)
    streams_[s] = backend.device->make_side_stream(kNames[s]);
  for (std::size_t s = 0; s < kStreams; ++s) workplace_.streams[s] = streams_[s].get();
  workplace_.activity = groups.activity;
  workplace_.groups = {groups.world, groups.gather, groups.reduce, nullptr, nullptr};
  const TierPlan& device = plan.device();
  backend.kernels->set_workspace(
      workplace_.memory[static_cast<std::size_t>(Tier::device)] + device.workspace_offset,
      static_cast<std::size_t>(device.workspace_bytes));
}

}  // namespace ds
