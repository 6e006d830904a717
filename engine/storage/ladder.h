// Ladder: chooses the I/O engine of a TileFiles: registered io_uring, plain io_uring, or threads.
#pragma once

#include <memory>

#include "engine/storage/block_lane.h"
#include "engine/storage/uring_queue.h"

namespace ds {

/// Owns one queue per direction and optionally one for low-priority reads, all of the same engine.
/// Takes the highest step that works; a step counts only after one page went through each queue.
class Ladder {
 public:
  /// Errors: Error{config} if `spec.engine` requires io_uring and it is not available.
  Ladder(const TileFilesSpec& spec, std::shared_ptr<const OpenFiles> files,
         const UringCalls& calls);

  [[nodiscard]] BlockLane& reader() { return *reader_; }
  [[nodiscard]] BlockLane& writer() { return *writer_; }
  /// Returns null without spec.beside_depth.
  [[nodiscard]] BlockLane* beside() { return beside_.get(); }
  [[nodiscard]] Checksums& checksums() { return checksums_; }
  void register_memory(std::span<const std::span<std::byte>> arenas);
  /// Returns the chosen step, such as "io_uring with registered buffers", and why no higher one.
  [[nodiscard]] const std::string& step() const { return step_; }

 private:
  bool climb_to_uring(const UringCalls& calls, std::string& why_not);
  void stay_with_threads();
  void make_lanes(std::unique_ptr<BlockQueue> reads, std::unique_ptr<BlockQueue> writes,
                  std::unique_ptr<BlockQueue> beside);
  void try_page();

  TileFilesSpec spec_, beside_spec_;
  std::shared_ptr<const OpenFiles> files_;
  Checksums checksums_;
  std::unique_ptr<BlockLane> reader_, writer_, beside_;
  UringQueue* read_ring_ = nullptr;  // owned by the lanes; null: threads
  UringQueue* write_ring_ = nullptr;
  std::string step_;
};

/// Does what TileFiles::open does, with replaceable system calls.
std::unique_ptr<TileFiles> open_tile_files(const TileFilesSpec& spec, const UringCalls& calls);

}  // namespace ds
