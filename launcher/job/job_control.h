// A job's side of its private socket: the state that clients see, and the requests they may send.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checkpoint_line.h"
#include "engine/base/error.h"
#include "engine/base/own_host_name.h"
#include "launcher/control/control_server.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_environment.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {

/// Returns id, launcher and start time of a job that begins now.
inline JobInfo begun_now(const JobIdentity& identity) {
  JobInfo info;
  info.id = job_id_text(identity.id);
  info.pid = static_cast<std::uint32_t>(::getpid());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  info.started_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  info.host = own_host_name();
  return info;
}
/// Returns the job as its clients see it.
inline JobInfo describe_job(const JobRequest& request, const JobIdentity& identity) {
  JobInfo info = begun_now(identity);
  info.ranks = static_cast<std::uint32_t>(request.placement.world_size());
  info.nodes = static_cast<std::uint32_t>(request.placement.nodes.size());
  info.log = request.log_file;
  for (const Program& program : request.programs) {
    if (&program != &request.programs.front()) info.command.emplace_back(":");
    info.command.insert(info.command.end(), program.argv.begin(), program.argv.end());
  }
  if (!request.programs.empty()) info.folder = request.programs.front().working_directory;
  return info;
}

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
    std::function<ScaleAnswer(const ScaleRequest&)> scale{};
    std::function<void(JobInfo&)> training{};  // adds its progress and its size
    int most_ranks = 0;                        // of its largest epoch, if that is not the first
  };

  /// Opens the socket in one of `folders`, if there are any. `known`: facts that do not change
  /// during the job.
  /// Errors:  Error{system} if it cannot be created and no client could reach the job without it.
  JobControl(asio::io_context& io, JobInfo known, const std::vector<std::string>& folders,
             Hooks hooks)
      : hooks_(std::move(hooks)),
        world_size_(std::max(hooks_.most_ranks, static_cast<int>(known.ranks))) {
    if (folders.empty()) return;
    const std::string id = known.id;
    const bool detached = !known.log.empty();
    const auto info = [this, known = std::move(known)] {
      JobInfo now = known;
      now.state = hooks_.phase();
      now.ranks_left = static_cast<std::uint32_t>(hooks_.ranks_left());
      if (hooks_.training) hooks_.training(now);
      return now;
    };
    ControlHooks seen{.info = info,
                      .signal = [this](int signo, auto grace) { return on_signal(signo, grace); },
                      .prefix = hooks_.prefix,
                      .shows = hooks_.shows};
    if (hooks_.watch) {
      seen.watch = [this](int rank, bool on) {
        return !over_ && rank < world_size_ && hooks_.watch(rank, on);
      };
    }
    if (hooks_.checkpoint)
      seen.checkpoint = [this] { return over_ ? "it is over" : hooks_.checkpoint(); };
    if (hooks_.scale) {
      seen.scale = [this](const ScaleRequest& request) {
        return over_ ? ScaleAnswer{true, "it is over"} : hooks_.scale(request);
      };
    }
    server_.emplace(io, id, folders, std::move(seen));
    problem_ = server_->open();
    if (!problem_.empty() && detached)
      throw Error(ErrorKind::system, "a detached job could not be reached again: " + problem_);
  }

  /// Returns why the job runs without its socket; empty: it has one, or none was requested.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Sends output to clients. `at`: when it was written, on our clock.
  void output(const Output& output, Clock::time_point at) {
    const bool sensible =
        output.rank >= 0 && output.rank < world_size_ && (output.stream == 1 || output.stream == 2);
    if (!server_ || !sensible) return;
    constexpr std::uint8_t kEnds = kOutputPartial | kOutputCr | kOutputMore;
    const auto flags = static_cast<std::uint8_t>(output.flags & kEnds);
    server_->output({output.rank, output.stream, flags, at}, output.bytes);
    if ((output.flags & Output::kTail) != 0) server_->answered(output.rank);
  }
  /// Reports a requested checkpoint, or why it failed.
  void saved(const CheckpointLine& line) {
    if (server_)
      server_->saved({.saved = line.what == CheckpointLine::What::saved,
                      .step = line.step,
                      .folder = line.folder,
                      .details = line.details});
  }
  /// Sends a line of the launcher itself.
  void say(std::string_view line) {
    if (server_) server_->output({.rank = -1, .stream = 2}, std::as_bytes(std::span(line)));
  }
  /// Reports the end. `on_drained` as for ControlServer.
  void finish(int code, std::function<void()> on_drained) {
    over_ = true;
    if (server_) return server_->finish(code, std::move(on_drained));
    on_drained();
  }

 private:
  std::string on_signal(int signo, std::optional<std::chrono::milliseconds> grace) {
    if (over_) return "it is over";
    if (signo < 1 || signo >= NSIG) return "there is no such signal";
    if (grace) hooks_.set_grace(*grace);
    if (signo == SIGKILL) hooks_.set_grace(std::chrono::milliseconds(0));
    const int meant = signo == SIGKILL ? SIGTERM : signo == SIGSTOP ? SIGTSTP : signo;
    const bool for_launcher =
        meant == SIGHUP || meant == SIGINT || meant == SIGTERM || meant == SIGTSTP;
    (for_launcher ? hooks_.signal : hooks_.forward)(meant);
    return {};
  }

  Hooks hooks_;
  std::optional<ControlServer> server_;
  bool over_ = false;
  int world_size_;
  std::string problem_;
};

}  // namespace ds::launcher
