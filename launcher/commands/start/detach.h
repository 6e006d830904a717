// Job in the background: a process that stays when the starting process exits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "launcher/cli/options.h"

namespace ds::launcher {

struct Background {
  std::uint64_t job_id = 0;
  std::string log_file{};
  int log_fd = -1;
  std::function<void(std::string_view)> on_say{};  // shows a line on the terminal, until on_running
  std::function<void()> on_running{};              // leaves the terminal
};

/// Calls `run` in this process. With --detach calls it in a new process, with /dev/null as standard
/// input and the log file as standard output and error. Until the ranks run, that process belongs
/// to the terminal: the launcher's messages are shown there, Ctrl-C stops it, and its exit code is
/// returned here. Then this function prints the job's id and returns 0, and the process continues
/// in its own session.
/// Errors:  Error{config} if the log file cannot be written, Error{system}.
int run_at_terminal(const Options& options, const std::function<int(const Background*)>& run);

}  // namespace ds::launcher
