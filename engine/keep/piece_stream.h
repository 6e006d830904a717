// PieceStream: the pieces that move from one rank to another as one stream of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ds {

/// Pieces in files, one after the other. Used by one thread.
class PieceStream {
 public:
  void add(int file, std::int64_t at, std::int64_t bytes) {
    places_.push_back({file, at, bytes});
    left_ += bytes;
  }
  /// Returns the bytes that were not read or written yet.
  [[nodiscard]] std::int64_t left() const { return left_; }

  /// Reads the next bytes. Returns whether all could be read; those that could not are zeros.
  bool read(std::span<std::byte> into);
  /// Writes the next bytes to their places. Returns 0, or the error number; the stream goes on.
  int write(std::span<const std::byte> from);

 private:
  struct Place {
    int file = -1;
    std::int64_t at = 0, bytes = 0;
  };
  /// Calls `action(file, at, offset, bytes)` for the next `size` bytes in their places.
  template <class Action>
  void advance(std::size_t size, const Action& action);

  std::vector<Place> places_;
  std::size_t next_ = 0;    // place of the next byte
  std::int64_t done_ = 0;   // bytes of that place that are done
  std::int64_t left_ = 0;
};

}  // namespace ds
