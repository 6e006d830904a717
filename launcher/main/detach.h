// Starts a job in a process that stays when this one leaves.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// What the job's process needs.
struct Detached {
  int log_fd = -1;
  std::function<void(std::string_view)> on_say;  // shows a line on the terminal, until on_running
  std::function<void()> on_running;              // lets go of the terminal
};

/// Runs `job` in a process of its own, with nothing as standard input and `log_file` as standard
/// output and error. Until the ranks run, it belongs to the terminal: what the launcher says is
/// shown there, Ctrl-C stops it, and its exit code is returned here. Then its id is printed, 0 is
/// returned, and it goes on in a session of its own.
/// Errors:  Error{config} when the log file cannot be written, Error{system}.
int run_detached(const std::string& job_id, const std::string& log_file,
                 const std::function<int(const Detached&)>& job);

}  // namespace ds::launcher
