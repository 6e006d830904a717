// SlotCopy: the own share of a kept step as the copy of a save, so that the states are copied once.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "engine/keep/slot_memory.h"
#include "engine/train/save_copy.h"

namespace ds {

/// The slot must not be written again while the object lives.
class SlotCopy final : public SaveCopy {
 public:
  /// `memory` receives the share, as slot number `slot` of the rank.
  SlotCopy(std::shared_ptr<SlotMemory> memory, int slot)
      : memory_(std::move(memory)), slot_(slot) {}

  /// The share is in the slot; or it is not, because of `why`. Any thread, once.
  void share_ended(ChunkPart part, std::string why);
  /// Takes the times of the snapshot. On the thread that runs steps.
  void copied(const SnapshotTimes& times) { times_ = times; }
  [[nodiscard]] int slot() const { return slot_; }

  /// Waits for the share.
  ChunkPart write(ChunkWriter& chunk) override;
  SnapshotTimes end() override { return times_; }

 private:
  const std::shared_ptr<SlotMemory> memory_;
  const int slot_;
  SnapshotTimes times_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool has_ended_ = false;
  ChunkPart part_;
  std::string why_;
};

}  // namespace ds
