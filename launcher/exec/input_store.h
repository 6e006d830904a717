// Stores standard input that some nodes have not been sent: in memory, then in an unlinked file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher::exec {

/// Positions count from the first byte that was added.
class InputStore {
 public:
  /// Larger amounts go to a file in TMPDIR, else /tmp.
  static constexpr std::size_t kInMemory = std::size_t{1} << 20;

  /// Errors:  Error{system} if the file cannot be written.
  void add(std::span<const std::byte> bytes);
  /// Allows the store to drop all bytes before `position`.
  void forget(std::uint64_t position);
  /// Errors:  Error{system} if the file cannot be read.
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t from, std::uint64_t count) const;
  [[nodiscard]] bool on_disk() const { return static_cast<bool>(file_); }

 private:
  void move_to_disk();
  void write(std::span<const std::byte> bytes);

  std::vector<std::byte> bytes_;  // from begin_ on; empty once the file exists
  std::uint64_t begin_ = 0;
  std::uint64_t file_size_ = 0;  // the file begins at begin_
  UniqueFd file_;
};

}  // namespace ds::launcher::exec
