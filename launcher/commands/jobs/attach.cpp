// `dslaunch attach`: follows a running job's output and exits with the job's code.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <utility>

#include "engine/base/contract.h"
#include "launcher/cli/option_values.h"
#include "launcher/commands/jobs/follow.h"
#include "launcher/commands/subcommands.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxLines = 1 << 20;
constexpr int kMaxRank = (1 << 20) - 1;
/// A second Ctrl-C within this time stops the job.
constexpr auto kConfirmWithin = 2s;

std::atomic<int> interrupts = 0;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr OptionDef<FollowOptions> kAttachOptions[] = {
    {{"--lines,-n", "N", "Begin with at most N lines of the kept output (default: 10)"},
     [](FollowOptions& part, const GivenOption& given) {
       part.lines = static_cast<std::size_t>(number_value(given, 0, kMaxLines));
     }},
    {{"--rank", "R", "Show only this rank, even if --show hides it"},
     [](FollowOptions& part, const GivenOption& given) {
       part.rank = number_value(given, 0, kMaxRank);
     }},
};

OptionTable table_of(FollowOptions& options) {
  OptionTable table;
  table.add("Options", std::span<const OptionDef<FollowOptions>>(kAttachOptions), options);
  return table;
}

OptionTable attach_options() {
  static FollowOptions shown;
  return table_of(shown);
}

/// Detaches on Ctrl-C; a second Ctrl-C is sent to the job.
class Interrupts {
 public:
  bool go_on(LiveJob& job) {
    for (int count = interrupts.exchange(0); count > 0; --count) on_interrupt(job);
    if (stopping_ || !leave_at_ || Clock::now() < *leave_at_) return true;
    fmt::print(stderr, "dslaunch: detached; job {} is still running\n", short_id(job.id));
    return false;
  }

 private:
  void on_interrupt(LiveJob& job) {
    if (!leave_at_) {
      leave_at_ = Clock::now() + kConfirmWithin;
      fmt::print(
          stderr,
          "dslaunch: detaching from job {}; press Ctrl-C again within 2 s to stop it instead\n",
          short_id(job.id));
      return;
    }
    stopping_ = true;
    job.client.send(SignalRequest{.signo = SIGINT});
  }

  std::optional<Clock::time_point> leave_at_;
  bool stopping_ = false;
};

int run_attach(int argc, char** argv) {
  FollowOptions options;
  const auto words = read_command(kAttachCommand, table_of(options), argc, argv, Words::mixed);
  if (!words) return 0;
  if (words->size() > 1) usage_error("dslaunch attach takes only one job");
  std::vector<LiveJob> jobs = own_jobs();
  const auto is_meant = [&](const LiveJob& job) { return job.id.starts_with(words->front()); };
  if (!words->empty() && std::ranges::none_of(jobs, is_meant)) {
    if (const auto ended = ended_job(words->front())) {
      fmt::print(stderr, "dslaunch: job {} ended with exit code {}\n", short_id(ended->id),
                 ended->code);
      return ended->code;
    }
  }
  LiveJob job = take_job(jobs, words->empty() ? "" : words->front());
  jobs.clear();
  std::signal(SIGINT, [](int) { ++interrupts; });
  Interrupts asked;
  options.follow = true;
  options.go_on = [&asked](LiveJob& followed) { return asked.go_on(followed); };
  return follow(job, options).value_or(contract::kExitInterrupted);
}

}  // namespace

constinit const Command kAttachCommand = {
    .name = "attach",
    .summary = "follow a running job and exit with its code, also after its end",
    .run = run_attach,
    .synopsis = "[JOB] [-n N] [--rank R]",
    .details =
        "JOB is the beginning of a job's id; it is optional if only one job runs. Ctrl-C detaches\n"
        "(exit code 130) and leaves the job running; a second Ctrl-C within 2 s stops it.",
    .options = attach_options,
};

}  // namespace ds::launcher
