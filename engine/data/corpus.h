// Corpus: pieces of files as one long sequence of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/mapped_file.h"

namespace ds {

/// Pieces of mapped files, concatenated. Copies share the maps.
class Corpus {
 public:
  Corpus() = default;
  /// Adds bytes [begin, end) of `file` as the next piece; an empty range adds nothing.
  void add(std::shared_ptr<const MappedFile> file, std::int64_t begin, std::int64_t end);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Returns the bytes from `offset` on that lie in one piece, at most `count`. Requires offset <
  /// size().
  [[nodiscard]] std::span<const std::uint8_t> run_at(std::int64_t offset, std::int64_t count) const;
  /// Returns a text that is equal for equal content, wherever the files lie: size, and a hash of at
  /// most 64 blocks of 4 KiB spread evenly over the corpus. A change between the blocks is missed;
  /// reading everything would take minutes.
  [[nodiscard]] std::string identity() const;

 private:
  struct Piece {
    std::shared_ptr<const MappedFile> file;
    std::span<const std::uint8_t> bytes;
    std::int64_t begin;  // offset in the corpus
  };
  [[nodiscard]] const Piece& piece_at(std::int64_t offset) const;
  std::vector<Piece> pieces_;
  std::int64_t size_ = 0;
};

}  // namespace ds
