// SaveCopy: a rank's states of one step, from which a save writes them while training continues.
#pragma once

#include "engine/checkpoint/chunk_writer.h"
#include "engine/states/snapshot.h"

namespace ds {

class SaveCopy {
 public:
  virtual ~SaveCopy() = default;
  /// Appends all pieces and returns them; the caller fills in the chunk's name and size. Called
  /// once at most, on the thread of the save. Errors: Error{system}.
  virtual ChunkPart write(ChunkWriter& chunk) = 0;
  /// Returns what the copy cost. On the thread that runs steps, after write() or instead of it.
  /// Errors: Error{system} if a device copy failed.
  virtual SnapshotTimes end() = 0;
};

}  // namespace ds
