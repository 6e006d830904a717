// What a save and a kept copy are made of: the head of a manifest, and a copy of the states beside
// the next step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/states/save_states.h"
#include "engine/train/save_copy.h"
#include "engine/train/trainer.h"

namespace ds {

/// Content of a manifest that does not come from the trainer.
struct SaveFacts {
  Origin origin;
  std::string config;      // to_toml()
  std::int64_t bytes = 0;  // size of one checkpoint, which must be free on disk
};

/// Returns the manifest without chunks and pieces of the finished step, the same on every rank.
/// `saved_ms` stays 0. After Trainer::flush().
Manifest head_of(Trainer& trainer, int world_size, const SaveFacts& facts);

/// A copy of a rank's states, made while the next step runs.
struct StateCopy {
  StatesToSave states;
  std::span<std::byte> buffer;  // for write_states()
};
/// Begins the copy, for which the trainer has memory once. `tiles` receives the tiles that are
/// copied and must outlive the copy. After Trainer::flush().
StateCopy begin_copy(Trainer& trainer, std::vector<SavedTile>& tiles);

/// A copy in the trainer's own memory.
class SnapshotCopy final : public SaveCopy {
 public:
  explicit SnapshotCopy(Trainer& trainer)
      : snapshot_(trainer.snapshot()), copy_(begin_copy(trainer, tiles_)) {}
  ChunkPart write(ChunkWriter& chunk) override;
  SnapshotTimes end() override;

 private:
  void thaw();

  Snapshot& snapshot_;
  std::vector<SavedTile> tiles_;
  const StateCopy copy_;
  bool is_thawed_ = false;
};

/// Returns the states themselves, for a training that waits until they are written. A thread of its
/// own calls Executor::enter_thread() before it writes them.
StateCopy states_now(Trainer& trainer, std::vector<SavedTile>& tiles);

}  // namespace ds
