// Standard input that some nodes have not been sent yet: in memory, then in a file without a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher::exec {

/// Positions count from the first byte that was ever added.
class InputStore {
 public:
  /// More than this goes to a file in TMPDIR, else /tmp.
  static constexpr std::size_t kInMemory = std::size_t{1} << 20;

  /// Errors:  Error{system} when the disk takes no more.
  void add(std::span<const std::byte> bytes);
  /// Nobody asks for anything before `position` any more.
  void forget(std::uint64_t position);
  /// Errors:  Error{system} when the disk does not give it back.
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t from, std::uint64_t count) const;
  [[nodiscard]] bool on_disk() const { return static_cast<bool>(file_); }

 private:
  void move_to_disk();
  void write(std::span<const std::byte> bytes);

  std::vector<std::byte> bytes_;  // from begin_ on; nothing once there is a file
  std::uint64_t begin_ = 0;
  std::uint64_t file_size_ = 0;  // the file begins at begin_
  UniqueFd file_;
};

}  // namespace ds::launcher::exec
