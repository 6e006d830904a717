// What a rank's standard input and output are connected to: pipes, or a terminal.
#pragma once

#include <cstdint>

#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct RankPipe {
  UniqueFd ours;    // does not block
  UniqueFd theirs;  // becomes a standard descriptor of the rank
};

/// Errors of all:  Error{system} if the system refuses.
RankPipe make_output_pipe();
RankPipe make_input_pipe();
/// A terminal that changes nothing in what the rank writes: no echo, no "\r\n".
RankPipe make_output_terminal(std::uint16_t rows, std::uint16_t columns);
/// Its new size; the rank hears SIGWINCH.
void resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns);

}  // namespace ds::launcher
