// A job's side of its private socket: the state that clients see, and the requests they may send.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checkpoint_line.h"
#include "launcher/control/control_server.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"

namespace ds::launcher {

/// Returns id, launcher and start time of a job that begins now.
JobInfo begun_now(const JobIdentity& identity);
/// Returns the job as its clients see it.
JobInfo describe_job(const JobRequest& request, const JobIdentity& identity);

class JobControl {
 public:
  struct Hooks {
    std::function<std::string_view()> phase;
    std::function<int()> ranks_left;
    std::function<void(std::chrono::milliseconds)> set_grace;
    std::function<void(int)> signal;   // as if the launcher had received it
    std::function<void(int)> forward;  // to the ranks
    // As in ControlHooks.
    std::function<std::string(const OutputPiece&)> prefix{};
    std::function<bool(int rank, int stream)> shows{};
    std::function<bool(int rank, bool on)> watch{};
    std::function<std::string()> checkpoint{};
    std::function<void(JobInfo&)> training{};  // adds its progress
  };

  /// Opens the socket in one of `folders`, if there are any. `known`: facts that do not change
  /// during the job.
  /// Errors:  Error{system} if it cannot be created and no client could reach the job without it.
  JobControl(asio::io_context& io, JobInfo known, const std::vector<std::string>& folders,
             Hooks hooks);

  /// Returns why the job runs without its socket; empty: it has one, or none was requested.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Sends output to clients. `at`: when it was written, on our clock.
  void output(const Output& output, Clock::time_point at);
  /// Reports a requested checkpoint, or why it failed.
  void saved(const CheckpointLine& line);
  /// Sends a line of the launcher itself.
  void say(std::string_view line);
  /// Reports the end. `on_drained` as for ControlServer.
  void finish(int code, std::function<void()> on_drained);

 private:
  std::string on_signal(int signo, std::optional<std::chrono::milliseconds> grace);

  Hooks hooks_;
  std::optional<ControlServer> server_;
  bool over_ = false;
  int world_size_;
  std::string problem_;
};

}  // namespace ds::launcher
