// The copy of a rank's states that training stops for: at the rate of memory, into memory that is
// there.
#pragma once

#include <span>

#include "engine/train/executor.h"
#include "engine/train/saved_states.h"

namespace ds {

struct SnapshotCopy {
  const Executor& executor;  // of the program that the tiles are of; nothing of it runs
  Device& device;
  Stream& stream;   // copies out of the device's own memory go through it
  int threads = 1;  // share the copies of host memory
};

/// Copies the tiles that lie in memory to `to` + snapshot_at; returns when all is there.
void copy_snapshot(const SnapshotCopy& with, std::span<const SavedTile> tiles, std::byte* to);

/// Makes memory resident, so that the first snapshot is as fast as the others.
void touch_pages(std::span<std::byte> memory);

}  // namespace ds
