// Background job: a process that stays when the starting process exits.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// Output and callbacks of the process of a background job.
struct Detached {
  int log_fd = -1;
  std::function<void(std::string_view)> on_say;  // shows a line on the terminal, until on_running
  std::function<void()> on_running;              // leaves the terminal
};

/// Runs `job` in a new process, with /dev/null as standard input and `log_file` as standard output
/// and error. Until the ranks run, the process belongs to the terminal: the launcher's messages are
/// shown there, Ctrl-C stops it, and its exit code is returned here. Then this function prints the
/// job's id and returns 0, and the process continues in its own session.
/// Errors:  Error{config} if the log file cannot be written, Error{system}.
int run_detached(const std::string& job_id, const std::string& log_file,
                 const std::function<int(const Detached&)>& job);

}  // namespace ds::launcher
