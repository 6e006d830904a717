// Describes a job for its clients and handles their requests.
#include "launcher/job/job_control.h"

#include <unistd.h>

#include <csignal>

#include "engine/base/error.h"
#include "engine/base/own_host_name.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {
JobInfo begun_now(const JobIdentity& identity) {
  JobInfo info;
  info.id = job_id_text(identity.id);
  info.pid = static_cast<std::uint32_t>(::getpid());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  info.started_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  info.host = own_host_name();
  return info;
}

JobInfo describe_job(const JobRequest& request, const JobIdentity& identity) {
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

JobControl::JobControl(asio::io_context& io, JobInfo known, const std::vector<std::string>& folders,
                       Hooks hooks)
    : hooks_(std::move(hooks)), world_size_(static_cast<int>(known.ranks)) {
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
  server_.emplace(io, id, folders, std::move(seen));
  problem_ = server_->open();
  if (!problem_.empty() && detached)
    throw Error(ErrorKind::system, "a detached job could not be reached again: " + problem_);
}

std::string JobControl::on_signal(int signo, std::optional<std::chrono::milliseconds> grace) {
  if (over_) return "it is over";
  if (signo < 1 || signo >= NSIG) return "there is no such signal";
  if (grace) hooks_.set_grace(*grace);
  switch (signo) {
    case SIGKILL:
      hooks_.set_grace(std::chrono::milliseconds(0));
      hooks_.signal(SIGTERM);
      break;
    case SIGSTOP:
      hooks_.signal(SIGTSTP);
      break;
    case SIGHUP:
    case SIGINT:
    case SIGTERM:
    case SIGTSTP:
      hooks_.signal(signo);
      break;
    default:
      hooks_.forward(signo);
  }
  return {};
}

void JobControl::output(const Output& output, Clock::time_point at) {
  const bool sensible =
      output.rank >= 0 && output.rank < world_size_ && (output.stream == 1 || output.stream == 2);
  if (!server_ || !sensible) return;
  constexpr std::uint8_t kEnds = kOutputPartial | kOutputCr | kOutputMore;
  const auto flags = static_cast<std::uint8_t>(output.flags & kEnds);
  server_->output({output.rank, output.stream, flags, at}, output.bytes);
  if ((output.flags & Output::kTail) != 0) server_->answered(output.rank);
}

void JobControl::saved(const CheckpointLine& line) {
  if (server_)
    server_->saved({.saved = line.what == CheckpointLine::What::saved,
                    .step = line.step,
                    .folder = line.folder,
                    .details = line.details});
}

void JobControl::say(std::string_view line) {
  if (server_) server_->output({.rank = -1, .stream = 2}, std::as_bytes(std::span(line)));
}

void JobControl::finish(int code, std::function<void()> on_drained) {
  over_ = true;
  if (server_) return server_->finish(code, std::move(on_drained));
  on_drained();
}

}  // namespace ds::launcher
