// RankMemory: all memory and all queues of one rank, allocated once as planned.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/storage/versioned_files.h"

namespace ds {

/// Groups over the same ranks, because collectives that run at the same time must not share a
/// group. Without overlap all are the same group. Device bytes move on the backend's groups;
/// `world` is always the host's.
struct RankGroups {
  Group* world = nullptr;
  Group* compute = nullptr;
  Group* gather = nullptr;
  Group* reduce = nullptr;
  Activity* activity = nullptr;  // shown to ranks that wait for this one; may be null
};

class RankMemory {
 public:
  /// Errors: Error{config} if a tier cannot hold what the plan needs.
  RankMemory(const PlacementPlan& plan, const RankGroups& groups, Backend& backend,
             std::unique_ptr<TileFiles> files);
  [[nodiscard]] const Workplace& workplace() const { return workplace_; }
  /// Returns the stream of the compute ops, on the caller's thread.
  [[nodiscard]] Stream& stream() { return *streams_[0]; }
  [[nodiscard]] TileFiles* files() { return files_.get(); }
  /// Returns files() as VersionedFiles if states in files are saved while training continues, else
  /// null.
  [[nodiscard]] VersionedFiles* versioned_files() {
    return dynamic_cast<VersionedFiles*>(files_.get());
  }
  /// Returns the snapshot's host memory, resident from the start; empty without add_snapshot().
  [[nodiscard]] std::span<std::byte> snapshot() const { return snapshot_; }
  /// Returns the ranges that the executors of this workplace must not write yet.
  [[nodiscard]] HeldStates& held() { return held_; }

 private:
  void take(Device& device, Tier tier, const TierPlan& plan);

  std::array<std::unique_ptr<Arena>, kTiers> arenas_;
  std::unique_ptr<TileFiles> files_;
  std::array<std::unique_ptr<Stream>, kStreams>
      streams_;  // after the memory, so that they end before it
  HeldStates held_;
  Workplace workplace_;
  std::span<std::byte> snapshot_;
};

}  // namespace ds
