// Standard streams of a rank: pipes, a terminal, and the queue for standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct RankPipe {
  UniqueFd ours;    // non-blocking
  UniqueFd theirs;  // becomes a standard descriptor of the rank
};

/// Make pipes.
/// Errors:  Error{system} if the system refuses.
RankPipe make_output_pipe();
RankPipe make_input_pipe();
/// Makes a terminal in raw mode, which does not change what the rank writes.
/// Errors:  Error{system} if the system refuses.
RankPipe make_output_terminal(std::uint16_t rows, std::uint16_t columns);
/// Sets the size of a terminal; the rank gets SIGWINCH.
void resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns);

/// Bytes that wait for a rank to read them. Never blocks. A rank that has closed its standard input
/// or has ended counts as having read everything.
class RankInput {
 public:
  RankInput() = default;  // the rank has no standard input
  explicit RankInput(UniqueFd fd) : fd_(std::move(fd)), exists_(true) {}

  [[nodiscard]] bool exists() const { return exists_; }
  /// Returns the descriptor to poll for writing; -1: nothing waits.
  [[nodiscard]] int waits_for() const { return waiting() > 0 ? fd_.get() : -1; }
  /// Queues bytes; `last`: end of file after them.
  void add(std::span<const std::byte> bytes, bool last);
  void write_some();
  /// Drops what waits: the rank does not read any more.
  void close();
  /// Returns how many of the added bytes the rank has read.
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
