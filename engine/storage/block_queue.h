// The seam below the retries and checks: blocks are started, and end in any order.
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

/// low: where the disk's queue knows priorities, behind what others of the process want.
enum class Urgency { normal, low };

/// The files of one TileFiles, kept open by whoever may still use them.
struct OpenFiles {
  std::vector<UniqueFd> files;
  std::vector<std::string> folders;  // for people
};

struct Block {
  int file = 0;
  std::int64_t offset = 0;
  std::byte* memory = nullptr;
  std::int64_t size = 0;
};

struct BlockEnd {
  int slot = 0;
  std::int64_t result = 0;  // bytes moved, maybe fewer than asked, or -errno
};

/// Moves blocks in one direction, up to `depth` at once. One thread uses it.
class BlockQueue {
 public:
  virtual ~BlockQueue() = default;
  /// `slot` (below the depth) is free: not started, or its end was returned by `wait`.
  virtual void start(int slot, const Block& block) = 0;
  /// Waits until at least one block has ended; fills the front of `ends` and returns how many
  /// (0: the deadline passed first). Errors: Error{system} if the queue itself fails.
  virtual int wait(std::span<BlockEnd> ends, Deadline deadline) = 0;
};

}  // namespace ds
