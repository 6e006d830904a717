// KeptSlot: one rank's share of one step in memory that outlives the rank: pieces as in a
// checkpoint's chunk, and what a manifest says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// What is known of a share. Shares with equal `run`, `arithmetic` (in head) and step belong
/// together, whatever epoch and world size made them.
struct KeptShare {
  std::string run{};         // names the job, the same in all its epochs
  std::uint64_t epoch = 0;   // in which it was made; shares of one step are joined by epoch
  Manifest head{};           // as of a checkpoint: training state, world size, arithmetic, tensors
                             // without pieces. The same on all ranks of the step
  ChunkPart part{};          // the writer's pieces; chunk.bytes is the size of the pieces
};

/// A memfd, or a file without a name in a folder (for states that lie in files). Its first page is
/// a header: magic, version, place, size and checksum of the text that follows the pieces. While
/// the pieces change, the header is invalid, so a rank that dies meanwhile leaves no half share.
class KeptSlot {
 public:
  /// `folder` empty: memory. Errors: Error{system} with the bytes if there is no room.
  static KeptSlot create(std::int64_t bytes, const std::string& folder);
  explicit KeptSlot(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Invalidates the header. Pieces begin at kPieces.
  void begin();
  /// Writes the text behind the pieces, then the header.
  void finish(const KeptShare& share);
  /// Returns the share, or nothing if the slot has none that verifies (header and text; pieces have
  /// checksums of their own, which readers check).
  [[nodiscard]] std::optional<KeptShare> read() const;

  static constexpr std::int64_t kPieces = 4096;

 private:
  UniqueFd fd_;
};

}  // namespace ds
