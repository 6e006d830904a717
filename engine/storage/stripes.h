// Stripes: cuts a range of bytes into blocks and computes which file holds each block. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ds {

/// A part of a range that lies within one block.
struct StripePiece {
  int file = 0;
  std::int64_t file_offset = 0;
  std::int64_t offset = 0;  // in the whole address range
  std::int64_t size = 0;
};

/// Block b is in file b % files, after the blocks of that file with smaller numbers.
struct Stripes {
  int files = 1;
  std::int64_t block = 1;

  /// Returns the number of pieces into which [offset, offset + size) falls.
  [[nodiscard]] std::int64_t count(std::int64_t offset, std::int64_t size) const {
    return size == 0 ? 0 : (offset + size - 1) / block - offset / block + 1;
  }

  [[nodiscard]] StripePiece piece(std::int64_t offset, std::int64_t size, std::int64_t i) const {
    const std::int64_t number = offset / block + i;
    const std::int64_t begin = std::max(offset, number * block);
    const std::int64_t end = std::min(offset + size, (number + 1) * block);
    return {.file = static_cast<int>(number % files),
            .file_offset = number / files * block + begin % block,
            .offset = begin,
            .size = end - begin};
  }

  /// Returns the bytes of file `file` when all files together hold `bytes`.
  [[nodiscard]] std::int64_t bytes_of_file(std::int64_t bytes, int file) const {
    const std::int64_t row = block * files;
    return bytes / row * block + std::clamp(bytes % row - file * block, std::int64_t{0}, block);
  }
};

}  // namespace ds
