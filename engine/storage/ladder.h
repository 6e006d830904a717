// Which step of the ladder a TileFiles stands on: registered io_uring, plain io_uring, threads.
#pragma once

#include <memory>

#include "engine/storage/block_lane.h"
#include "engine/storage/uring_queue.h"

namespace ds {

/// Two queues, one a direction, and maybe one to read beside them, of one kind. The highest step
/// that works is taken, and tried with one page each before it counts.
class Ladder {
 public:
  /// Errors: Error{config} if `spec.engine` asks for io_uring and it cannot be had.
  Ladder(const TileFilesSpec& spec, std::shared_ptr<const OpenFiles> files,
         const UringCalls& calls);

  [[nodiscard]] BlockLane& reader() { return *reader_; }
  [[nodiscard]] BlockLane& writer() { return *writer_; }
  /// Null without spec.beside_depth.
  [[nodiscard]] BlockLane* beside() { return beside_.get(); }
  [[nodiscard]] Checksums& checksums() { return checksums_; }
  void register_memory(std::span<const std::span<std::byte>> arenas);
  /// "io_uring with registered buffers", or a lower step and why no higher one.
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

/// TileFiles::open with other system calls below it.
std::unique_ptr<TileFiles> open_tile_files(const TileFilesSpec& spec, const UringCalls& calls);

}  // namespace ds
