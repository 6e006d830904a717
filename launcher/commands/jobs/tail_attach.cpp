// `dslaunch tail` and `dslaunch attach`: show or follow a running job's output.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/jobs/find_job.h"
#include "launcher/control/job_output.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxLines = 1 << 20;
constexpr int kMaxRank = (1 << 20) - 1;

/// A second Ctrl-C within this time stops the job.
constexpr auto kConfirmWithin = 2s;

std::atomic<int> interrupts = 0;
static_assert(std::atomic<int>::is_always_lock_free);

struct FollowOptions {
  std::size_t lines = 10;  // maximum number of kept lines to show first
  int rank = -1;           // -1: all ranks
  bool follow = false;     // continue until the job ends
};

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
      for (int count = interrupts.exchange(0); count > 0; --count) on_interrupt();
      if (leaves()) break;
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
  /// Detaches on the first Ctrl-C and sends a second one to the job.
  void on_interrupt() {
    if (leave_at_) {
      stopping_ = true;
      job_.client.send(SignalRequest{.signo = SIGINT});
      return;
    }
    leave_at_ = Clock::now() + kConfirmWithin;
    fmt::print(
        stderr,
        "dslaunch: detaching from job {}; press Ctrl-C again within 2 s to stop it instead\n",
        short_id(job_.id));
  }

  [[nodiscard]] bool leaves() const {
    if (stopping_ || !leave_at_ || Clock::now() < *leave_at_) return false;
    fmt::print(stderr, "dslaunch: detached; job {} is still running\n", short_id(job_.id));
    return true;
  }

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
  std::optional<Clock::time_point> leave_at_;
  bool stopping_ = false;
};

/// Copies the output to this process's standard output and error. Returns the job's exit code if it
/// was followed to its end.
/// Errors:  Error{usage} if the job does not have the rank; Error{unreachable}.
std::optional<int> follow(LiveJob& job, const FollowOptions& options) {
  const auto ranks = static_cast<int>(info_of(job).ranks);
  if (options.rank >= ranks)
    throw Error(ErrorKind::usage,
                fmt::format("job {} has no rank {}", short_id(job.id), options.rank),
                fmt::format("the job has ranks 0 to {}", ranks - 1));
  job.client.send(OutputRequest{.rank = options.rank, .follow = options.follow});
  return Follower(job, options, ranks).run();
}

constexpr OptionDef<FollowOptions> kTailOptions[] = {
    {{"--lines,-n", "N", "Show at most N lines of the kept output (default: 10)"},
     set_number<0, kMaxLines, &FollowOptions::lines>},
    {{"--follow,-f", "", "Continue with new output until the job ends"},
     set_flag<&FollowOptions::follow>},
    {{"--rank", "R", "Show only this rank, even if --show hides it"},
     set_number<0, kMaxRank, &FollowOptions::rank>},
};

int run_tail(int argc, char** argv) {
  FollowOptions options;
  const auto words = read_command(kTailCommand, table_of(kTailOptions, options), argc, argv);
  if (!words) return 0;
  LiveJob job = only_job(kTailCommand, *words, own_jobs());
  follow(job, options);
  return 0;
}

constexpr OptionDef<FollowOptions> kAttachOptions[] = {
    {{"--lines,-n", "N", "Begin with at most N lines of the kept output (default: 10)"},
     set_number<0, kMaxLines, &FollowOptions::lines>},
    {{"--rank", "R", "Show this rank, even if --show hides it, and the lines of dslaunch itself"},
     set_number<0, kMaxRank, &FollowOptions::rank>},
};

int run_attach(int argc, char** argv) {
  FollowOptions options;
  const auto words = read_command(kAttachCommand, table_of(kAttachOptions, options), argc, argv);
  if (!words) return 0;
  std::vector<LiveJob> jobs = own_jobs();
  const auto is_meant = [&](const LiveJob& job) { return job.id.starts_with(words->front()); };
  if (words->size() == 1 && std::ranges::none_of(jobs, is_meant)) {
    if (const auto ended = ended_job(words->front())) {
      fmt::print(stderr, "dslaunch: job {} ended with exit code {}\n", short_id(ended->id),
                 ended->code);
      return ended->code;
    }
  }
  LiveJob job = only_job(kAttachCommand, *words, std::move(jobs));
  std::signal(SIGINT, [](int) { ++interrupts; });
  options.follow = true;
  return follow(job, options).value_or(contract::kExitInterrupted);
}

}  // namespace

constinit const Command kTailCommand = {
    .name = "tail",
    .summary = "Show the last output of a running job",
    .run = run_tail,
    .synopsis = "[JOB] [-n N] [-f] [--rank R]",
    .details =
        "JOB is the beginning of a job's id; it is optional if only one job runs. A job keeps the\n"
        "last 1 MiB of output of the ranks that it shows. The output of hidden ranks is sent only\n"
        "while --rank asks for it, beginning with the rank's last 20 lines.",
    .options = shown_table<kTailOptions>,
};

constinit const Command kAttachCommand = {
    .name = "attach",
    .summary = "Follow a running job and exit with its code, also after its end",
    .run = run_attach,
    .synopsis = "[JOB] [-n N] [--rank R]",
    .details =
        "JOB is the beginning of a job's id; it is optional if only one job runs. Ctrl-C detaches\n"
        "(exit code 130) and leaves the job running; a second Ctrl-C within 2 s stops it.",
    .options = shown_table<kAttachOptions>,
};

}  // namespace ds::launcher
