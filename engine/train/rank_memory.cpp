// Allocates arenas by tier and streams by use.
#include "engine/train/rank_memory.h"

#include "engine/states/snapshot.h"

namespace ds {
namespace {

bool is_host_work(std::size_t stream) {
  const auto id = static_cast<StreamId>(stream);
  return id == StreamId::host || id == StreamId::read || id == StreamId::write;
}

}  // namespace

RankMemory::RankMemory(const PlacementPlan& plan, const RankGroups& groups, Backend& backend,
                       std::unique_ptr<TileFiles> files)
    : files_(std::move(files)), held_(*backend.device) {
  streams_[0] = backend.device->make_stream();
  for (const Tier tier : {Tier::device, Tier::pinned_host, Tier::host})
    take(*backend.device, tier, plan.of(tier));
  workplace_.files = files_.get();
  for (std::size_t s = 1; s < kStreams; ++s) {
    if (!is_host_work(s)) streams_[s] = backend.device->make_side_stream(kStreamNames[s]);
    if (is_host_work(s) && !backend.device->is_host())
      streams_[s] = backend.device->make_host_stream(kStreamNames[s]);
  }
  for (std::size_t s = 0; s < kStreams; ++s) workplace_.streams[s] = streams_[s].get();
  workplace_.activity = groups.activity;
  workplace_.held = &held_;
  const std::array<Group*, 3> by_stream{groups.compute != nullptr ? groups.compute : groups.world,
                                        groups.gather, groups.reduce};
  for (std::size_t s = 0; s < by_stream.size(); ++s) {
    if (by_stream[s] == nullptr) continue;
    workplace_.groups[{CommRanks::data, static_cast<StreamId>(s)}] = by_stream[s];
    by_stream[s]->run_on(*streams_[s]);
  }
  const TierPlan& device = plan.device();
  backend.kernels->set_workspace(
      workplace_.memory[static_cast<std::size_t>(Tier::device)] + device.workspace_offset,
      static_cast<std::size_t>(device.workspace_bytes));
}

// The CPU's pages are zero when they are first touched, so only device memory is zeroed.
void RankMemory::take(Device& device, Tier tier, const TierPlan& plan) {
  const auto bytes = static_cast<std::size_t>(plan.total_bytes);
  if (bytes == 0) return;
  const auto t = static_cast<std::size_t>(tier);
  arenas_[t] = device.allocate(tier, bytes);
  workplace_.memory[t] = arenas_[t]->data();
  if (!device.is_host() && tier == Tier::device)
    device.zero(arenas_[t]->data(), bytes, *streams_[0]);
  if (files_ && tier == Tier::host) files_->register_memory({arenas_[t]->data(), bytes});
  if (plan.snapshot_bytes == 0) return;
  snapshot_ = {arenas_[t]->data() + plan.snapshot_offset,
               static_cast<std::size_t>(plan.snapshot_bytes)};
  touch_pages(snapshot_);
}

}  // namespace ds
