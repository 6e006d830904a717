// What waits to be read by a rank from its standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

/// Never blocks. A rank that has closed its standard input, or has ended, takes everything.
class RankInput {
 public:
  RankInput() = default;  // none
  explicit RankInput(UniqueFd fd) : fd_(std::move(fd)), exists_(true) {}

  [[nodiscard]] bool exists() const { return exists_; }
  /// To be polled for writing; -1: nothing waits.
  [[nodiscard]] int waits_for() const { return waiting() > 0 ? fd_.get() : -1; }
  /// After `last` comes the end of the file.
  void add(std::span<const std::byte> bytes, bool last);
  void write_some();
  /// Nobody reads it any more.
  void close();
  /// Bytes that the rank has taken, of all that were added.
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  [[nodiscard]] std::size_t waiting() const { return bytes_.size() - begin_; }
  UniqueFd fd_;
  bool exists_ = false;
  bool last_ = false;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace ds::launcher
