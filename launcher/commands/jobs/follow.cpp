// Follower of a job's output: requests it and writes it to standard output and error.
#include "launcher/commands/jobs/follow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "launcher/control/job_output.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

void write_all(int fd, OutputBuffer& buffer) {
  std::string_view text = buffer.view();
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) throw_errno("cannot write the output", errno);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  buffer.clear();
}

class Follower {
 public:
  Follower(LiveJob& job, const FollowOptions& options, int ranks)
      : job_(job), options_(options), view_(ranks, options.lines, same_file(1, 2)) {}

  std::optional<int> run() {
    while (!done_ && !code_) {
      if (options_.go_on && !options_.go_on(job_)) break;
      const auto message = job_.client.next(Deadline::after(200ms));
      if (message) {
        std::visit([this](const auto& known) { on(known); }, *message);
        flush();
      } else if (job_.client.over()) {
        throw Error(ErrorKind::unreachable,
                    fmt::format("job {} exited unexpectedly", short_id(job_.id)),
                    "its launcher may have been killed");
      }
    }
    view_.finish(to());
    flush();
    return code_;
  }

 private:
  void on(const RankOutput& piece) { view_.output(piece, to()); }
  void on(const Skipped& gap) { view_.skipped(gap, to()); }
  void on(const Caught& /*message*/) {
    view_.caught(to());
    done_ = !options_.follow;
  }
  void on(const JobDone& message) { code_ = message.code; }
  void on(const Refused& message) {
    throw Error(ErrorKind::unreachable,
                fmt::format("job {}: {}", short_id(job_.id), message.reason));
  }
  template <class T>
  void on(const T& /*other*/) {}

  RelayOutput to() { return {out_, err_}; }
  void flush() {
    write_all(1, out_);
    write_all(2, err_);
  }

  LiveJob& job_;
  const FollowOptions& options_;
  TailView view_;
  OutputBuffer out_, err_;
  bool done_ = false;
  std::optional<int> code_;
};

}  // namespace

std::optional<int> follow(LiveJob& job, const FollowOptions& options) {
  job.client.send(InfoRequest{});
  const ControlMessage answer = answer_of(job);
  const auto* info = std::get_if<JobInfo>(&answer);
  if (info == nullptr) throw Error(ErrorKind::unreachable, "unexpected answer from the job");
  if (options.rank >= static_cast<int>(info->ranks))
    throw Error(ErrorKind::usage,
                fmt::format("job {} has no rank {}", short_id(job.id), options.rank),
                fmt::format("the job has ranks 0 to {}", info->ranks - 1));
  job.client.send(OutputRequest{.rank = options.rank, .follow = options.follow});
  return Follower(job, options, static_cast<int>(info->ranks)).run();
}

}  // namespace ds::launcher
