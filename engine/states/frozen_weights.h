// FrozenWeights: reads weights that do not train, wherever and in whatever type they are kept.
#pragma once

#include <span>
#include <vector>

#include "engine/execute/executor.h"
#include "engine/storage/tile_files.h"

namespace ds {

/// Returns the first address from `data` on that files can be read into.
std::byte* aligned(std::byte* data);

/// A range of bytes in files that contains elements [first, first + count) of a value and can be
/// read: whole blocks, of which `skipped` bytes come before the elements.
struct FileRange {
  std::int64_t offset = 0, bytes = 0, skipped = 0;
};
FileRange file_range(const Program& program, const Executor& executor, ValueId id,
                     std::int64_t first, std::int64_t count);

/// Returns the most bytes of a file_range() of `count` elements.
constexpr std::int64_t most_file_bytes(std::int64_t count) {
  return count * size_of(DType::f32) + 2 * kTileAlignment;
}

class FrozenWeights {
 public:
  /// `files` may be null if nothing is kept in files.
  FrozenWeights(const Program& step, const Executor& executor, TileFiles* files)
      : step_(step), executor_(executor), files_(files) {}

  /// Returns elements [first, first + count) of a value as f32, until the next call.
  std::span<const float> read(ValueId id, std::int64_t first, std::int64_t count);

 private:
  const Program& step_;
  const Executor& executor_;
  TileFiles* const files_;
  std::vector<std::byte> bytes_;
  std::vector<float> values_;
};

}  // namespace ds
