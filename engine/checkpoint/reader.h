// Reads checkpoints from disk or memory: verifies the manifest when opened, each piece when used.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

/// A chunk behind a descriptor, for example in memory that outlives the rank that wrote it.
struct OpenChunk {
  UniqueFd file{};         // none: nothing of this chunk will be read
  std::int64_t begin = 0;  // byte of the file at which the chunk begins
  std::string name{};      // for messages
};

class Checkpoint {
 public:
  /// Opens a checkpoint. Errors: Error{config} for a missing manifest (half-written, or another
  /// kind of folder), one that does not verify, a newer version, a chunk that is missing or shorter
  /// than the manifest says, no permission. Each has the folder, the file, and what to do.
  static std::shared_ptr<const Checkpoint> open(const std::string& folder);
  /// Makes a checkpoint of a manifest that covers every state and of its chunks. `name` stands for
  /// the folder in messages.
  static std::shared_ptr<const Checkpoint> of(Manifest manifest, std::vector<OpenChunk> chunks,
                                              std::string name);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  /// Returns the entry, or null if there is no such tensor or state.
  [[nodiscard]] const TensorEntry* tensor(std::string_view name) const;
  [[nodiscard]] const StateEntry* state(std::string_view tensor, std::string_view state) const;
  /// Returns a new descriptor for reading. Errors: as open().
  [[nodiscard]] UniqueFd open_chunk(int chunk) const;
  /// Returns the byte of that file at which the chunk begins.
  [[nodiscard]] std::int64_t chunk_begin(int chunk) const;
  [[nodiscard]] std::string chunk_path(int chunk) const;

 private:
  Checkpoint() = default;
  void index_names();

  std::string folder_;
  Manifest manifest_;
  std::vector<OpenChunk> open_chunks_;  // empty: the chunks are files in folder_
  std::vector<std::size_t> by_name_;    // indices in manifest_.tensors, sorted by name
};

/// Reads ranges of one checkpoint. Used by one thread; several readers may share a checkpoint.
/// Keeps one piece in memory (kPieceBytes at most).
class PieceReader {
 public:
  explicit PieceReader(std::shared_ptr<const Checkpoint> checkpoint);

  /// Reads elements [first, first + into.size()) of a tensor's state as fp32, in the row-major
  /// order of its logical shape. `rank` is the owner, for a per_rank state. Tensor and state must
  /// exist. Errors: Error{config} with tensor, state, elements, file and byte of a piece that does
  /// not verify or cannot be read.
  void read(std::string_view tensor, std::string_view state, std::int64_t first,
            std::span<float> into, int rank = -1);

  /// Reads and verifies one piece. Errors: as read().
  std::span<const std::byte> verified(const TensorEntry& tensor, const StateEntry& state,
                                      const Piece& piece);

  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }
  /// Returns the chunk of the piece that could not be read or verified; -1: none.
  [[nodiscard]] int broken_chunk() const { return broken_chunk_; }

 private:
  void fetch(const TensorEntry& tensor, const StateEntry& state, const Piece& piece,
             std::span<std::byte> into);

  std::shared_ptr<const Checkpoint> checkpoint_;
  std::vector<std::byte> buffer_;
  const Piece* held_ = nullptr;  // the piece that buffer_ holds
  UniqueFd chunk_;               // the chunk read last
  int chunk_number_ = -1;
  int broken_chunk_ = -1;
  std::int64_t bytes_read_ = 0;
};

}  // namespace ds
