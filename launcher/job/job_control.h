// A job's side of its private socket: what clients see of the job, and what they may do to it.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checkpoint_line.h"
#include "launcher/control/control_server.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"

namespace ds::launcher {

/// Id, launcher and start of something that begins now.
JobInfo begun_now(const JobIdentity& identity);
/// A job as its clients see it.
JobInfo describe_job(const JobRequest& request, const JobIdentity& identity);

class JobControl {
 public:
  struct Hooks {
    std::function<std::string_view()> phase;
    std::function<int()> ranks_left;
    std::function<void(std::chrono::milliseconds)> set_grace;
    std::function<void(int)> signal;   // as if the launcher had got it
    std::function<void(int)> forward;  // to the ranks
    // As in ControlHooks.
    std::function<std::string(const OutputPiece&)> prefix{};
    std::function<bool(int rank, int stream)> shows{};
    std::function<bool(int rank, bool on)> watch{};
    std::function<std::string()> checkpoint{};
    std::function<void(JobInfo&)> training{};  // adds what is known of it
  };

  /// Opens the socket in one of `folders`, if there are any. `known`: what stays the same as long
  /// as the job lives.
  /// Errors:  Error{system} when it cannot be made and the job would be out of reach without it.
  JobControl(asio::io_context& io, JobInfo known, const std::vector<std::string>& folders,
             Hooks hooks);

  /// Why the job runs without its socket; empty: it has one, or was not to have one.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// `at`: when it was written, on our clock.
  void output(const Output& output, Clock::time_point at);
  /// A checkpoint that was asked for, or why there is none.
  void saved(const CheckpointLine& line);
  /// A line of the launcher itself.
  void say(std::string_view line);
  /// `on_drained` as for ControlServer.
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
