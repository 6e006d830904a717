// BlockQueue: interface of the I/O engines; blocks end in any order. The caller retries and checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"

namespace ds {

enum class Direction { read, write };

/// low: behind other requests of the process, where the disk's queue supports priorities.
enum class Urgency { normal, low };

/// The files of one TileFiles. Everyone who may still use them shares ownership.
struct OpenFiles {
  std::vector<UniqueFd> files;
  std::vector<std::string> folders;  // for messages
};

struct FileBlock {
  int file = 0;
  std::int64_t offset = 0;
  std::byte* memory = nullptr;
  std::int64_t size = 0;
};

struct BlockEnd {
  int slot = 0;
  std::int64_t result = 0;  // bytes moved, possibly fewer than requested, or -errno
};

/// Moves blocks in one direction, up to `depth` at once. One thread uses it.
class BlockQueue {
 public:
  virtual ~BlockQueue() = default;
  /// Starts a block. `slot` is below the depth and free: never started, or returned by `wait`.
  virtual void start(int slot, const FileBlock& block) = 0;
  /// Waits until at least one block has ended. Writes the ended blocks to the front of `ends` and
  /// returns their number (0: the deadline passed). Errors: Error{system} if the queue itself
  /// fails.
  virtual int wait(std::span<BlockEnd> ends, Deadline deadline) = 0;
};

}  // namespace ds
