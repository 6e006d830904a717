// BlockLane: one direction of a TileFiles: cuts ranges, keeps the queue full, continues, verifies.
#pragma once

#include <memory>
#include <optional>

#include "engine/base/error.h"
#include "engine/storage/block_queue.h"
#include "engine/storage/checksums.h"
#include "engine/storage/stripes.h"
#include "engine/storage/tile_files.h"

namespace ds {

class BlockLane {
 public:
  struct Parts {
    Direction direction = Direction::read;
    Stripes stripes;
    std::shared_ptr<const OpenFiles> files;
    std::unique_ptr<BlockQueue> queue;
    Checksums* checksums = nullptr;  // null: no checksums
  };
  BlockLane(Parts parts, const TileFilesSpec& spec);

  /// Moves [offset, offset + size) from or to `memory`. No block is in flight when it returns or
  /// throws, except after Error{deadline}.
  void run(std::int64_t offset, std::byte* memory, std::int64_t size);

  [[nodiscard]] BlockQueue& queue() { return *parts_.queue; }

 private:
  struct Slot {
    StripePiece piece;
    std::byte* memory = nullptr;
    std::int64_t done = 0;  // bytes of the piece moved so far
  };

  void start(int slot, const StripePiece& piece, std::byte* memory);
  void resume(int slot);
  /// Handles the end of a block. Returns whether its slot is free again.
  bool end(const BlockEnd& ended);
  void check(const Slot& slot);
  [[nodiscard]] std::string place(const StripePiece& piece) const;
  [[nodiscard]] Error failure(const StripePiece& piece, int error_number) const;
  [[nodiscard]] Error silence() const;
  void keep(Error error);

  Parts parts_;
  std::string owner_;  // "rank 0, optimizer state"
  std::chrono::milliseconds patience_;
  std::vector<Slot> slots_;
  std::vector<int> free_;
  std::vector<BlockEnd> ends_;
  std::optional<Error> error_;  // the first error of this run
  Clock::time_point progress_{};
};

}  // namespace ds
