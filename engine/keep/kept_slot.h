// KeptSlot: one rank's share of one step in memory that outlives the rank: pieces as in a
// checkpoint's chunk, and what a manifest says of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// What is known of a share. Shares with equal `run`, `arithmetic` (in head) and step belong
/// together, whatever epoch and world size made them.
struct KeptShare {
  std::string run{};        // names the job, the same in all its epochs
  std::uint64_t epoch = 0;  // in which it was made; shares of one step are joined by epoch
  Manifest head{};          // as of a checkpoint: training state, world size, arithmetic, tensors
                            // without pieces. The same on all ranks of the step
  ChunkPart part{};         // the writer's pieces; chunk.bytes is the size of the pieces
};

/// First bytes of a slot: where its text is. A buddy copies pieces, text and header as they are.
struct KeptHeader {
  std::array<char, 8> magic{};
  std::uint64_t version = 0;
  std::int64_t text_at = 0, text_bytes = 0;    // in the file
  std::int64_t run_bytes = 0, head_bytes = 0;  // of the text; the rest is the part
  std::uint64_t epoch = 0;
  std::uint64_t text_checksum = 0;  // XXH3-64
  std::uint64_t checksum = 0;       // XXH3-64 of the members before
  friend bool operator==(const KeptHeader&, const KeptHeader&) = default;
};

/// A memfd, or a file without a name in a folder (for states that lie in files). Its first page is
/// a header: magic, version, place, size and checksum of the text that follows the pieces. While
/// the pieces change, the header is invalid, so a rank that dies meanwhile leaves no half share.
class KeptSlot {
 public:
  /// Takes `bytes` of memory or of the disk at once, so that writing needs no more. `folder` empty:
  /// memory. Errors: Error{system} with the bytes if there is no room.
  static KeptSlot create(std::int64_t bytes, const std::string& folder);
  explicit KeptSlot(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Invalidates the header. Pieces begin at kPieces.
  void begin();
  /// Writes the text behind the pieces, then the header. Errors: Error{system}.
  void finish(const KeptShare& share);
  /// Writes the header of another slot, whose pieces and text were copied. Errors: Error{system}.
  void seal(const KeptHeader& header);
  /// Returns the header if it is valid; the text may not be.
  [[nodiscard]] std::optional<KeptHeader> header() const;
  /// Returns the share, or nothing if the slot has none that verifies (header and text; pieces have
  /// checksums of their own, which readers check). `problem`, if given, receives what is wrong with
  /// a slot that is neither new nor was being written.
  [[nodiscard]] std::optional<KeptShare> read(std::string* problem = nullptr) const;

  /// Returns the size of a slot in whole pages, with room for the longest text. `part` has the
  /// pieces that will be written, whatever their checksums. Numbers in `head` may be others. Of a
  /// head with nothing but tensors, the size is that for any config of usual length. Pure.
  static std::int64_t bytes_for(const ChunkPart& part, const Manifest& head);

  static constexpr std::int64_t kPieces = 4096;

 private:
  UniqueFd fd_;
};

}  // namespace ds
