// All memory and all queues of one rank: taken once, as the plan says.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "engine/execute/executor.h"
#include "engine/program/passes.h"
#include "engine/storage/versioned_files.h"

namespace ds {

/// The same ranks, several times: what runs side by side must not share a group. Without overlap
/// all are one. What moves the device's bytes is the backend's, `world` is always the host's.
struct RankGroups {
  Group* world = nullptr;
  Group* compute = nullptr;
  Group* gather = nullptr;
  Group* reduce = nullptr;
  Activity* activity = nullptr;  // what those see who wait for this rank; may be null
};

class RankMemory {
 public:
  /// Errors: Error{config} when a tier cannot hold what the plan needs.
  RankMemory(const PlacementPlan& plan, const RankGroups& groups, Backend& backend,
             std::unique_ptr<TileFiles> files);
  [[nodiscard]] const Workplace& workplace() const { return workplace_; }
  /// The stream of the compute ops: the caller's own.
  [[nodiscard]] Stream& stream() { return *streams_[0]; }
  [[nodiscard]] TileFiles* files() { return files_.get(); }
  /// The same where a save needs them so: states in files, saved while training goes on; else null.
  [[nodiscard]] VersionedFiles* versioned_files() {
    return dynamic_cast<VersionedFiles*>(files_.get());
  }
  /// Host memory, resident from the start; empty without add_snapshot().
  [[nodiscard]] std::span<std::byte> snapshot() const { return snapshot_; }
  /// What the executors of this workplace must not write yet.
  [[nodiscard]] HeldStates& held() { return held_; }

 private:
  void take(Device& device, Tier tier, const TierPlan& plan);

  std::array<std::unique_ptr<Arena>, kTiers> arenas_;
  std::unique_ptr<TileFiles> files_;
  std::array<std::unique_ptr<Stream>, kStreams> streams_;  // last: they end before the memory does
  HeldStates held_;
  Workplace workplace_;
  std::span<std::byte> snapshot_;
};

}  // namespace ds
