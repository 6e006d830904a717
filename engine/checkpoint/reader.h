// A checkpoint on disk, opened: its manifest verified, pieces read and verified as they are used.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest.h"

namespace ds {

class Checkpoint {
 public:
  /// Errors: Error{config}: no manifest (half-written, or another kind of folder), a manifest that
  /// does not verify, a newer version, a chunk that is missing or shorter than the manifest says,
  /// no permission. Each names the folder, the file, and what to do.
  static std::shared_ptr<const Checkpoint> open(const std::string& folder);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  /// Null: it has no such tensor, or the tensor no such state.
  [[nodiscard]] const TensorEntry* tensor(std::string_view name) const;
  [[nodiscard]] const StateEntry* state(std::string_view tensor, std::string_view state) const;
  /// A descriptor of its own, for reading. Errors: as open().
  [[nodiscard]] UniqueFd open_chunk(int chunk) const;
  [[nodiscard]] std::string chunk_path(int chunk) const;

 private:
  Checkpoint() = default;
  std::string folder_;
  Manifest manifest_;
  std::vector<std::size_t> by_name_;  // places of manifest_.tensors, sorted by name
};

/// Reads ranges of one checkpoint. One thread uses it; several readers may share a checkpoint. It
/// keeps one piece in memory (kPieceBytes at most).
class PieceReader {
 public:
  explicit PieceReader(std::shared_ptr<const Checkpoint> checkpoint);

  /// Elements [first, first + into.size()) of a tensor's state in the row-major order of its
  /// logical shape, as fp32. `rank`: whose, of a per_rank state. Errors: Error{config} naming
  /// tensor, state, elements, file and byte of a piece that is not what was written or cannot be
  /// read; the tensor and the state must be there.
  void read(std::string_view tensor, std::string_view state, std::int64_t first,
            std::span<float> into, int rank = -1);

  /// Reads and verifies one piece. Errors: as read().
  std::span<const std::byte> verified(const TensorEntry& tensor, const StateEntry& state,
                                      const Piece& piece);

  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::vector<std::byte> buffer_;
  const Piece* held_ = nullptr;  // whose bytes buffer_ has
  UniqueFd chunk_;               // the last one that was read
  int chunk_number_ = -1;
  std::int64_t bytes_read_ = 0;
};

}  // namespace ds
