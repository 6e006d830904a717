// `dslaunch tail`: shows the last output of a running job.
#include "launcher/cli/option_values.h"
#include "launcher/commands/jobs/follow.h"
#include "launcher/commands/subcommands.h"

namespace ds::launcher {
namespace {

constexpr int kMaxLines = 1 << 20;
constexpr int kMaxRank = (1 << 20) - 1;

constexpr OptionDef<FollowOptions> kTailOptions[] = {
    {{"--lines,-n", "N", "Show at most N lines of the kept output (default: 10)"},
     [](FollowOptions& part, const GivenOption& given) {
       part.lines = static_cast<std::size_t>(number_value(given, 0, kMaxLines));
     }},
    {{"--follow,-f", "", "Continue with new output until the job ends"},
     [](FollowOptions& part, const GivenOption&) { part.follow = true; }},
    {{"--rank", "R", "Show only this rank, even if --show hides it"},
     [](FollowOptions& part, const GivenOption& given) {
       part.rank = number_value(given, 0, kMaxRank);
     }},
};

OptionTable table_of(FollowOptions& options) {
  OptionTable table;
  table.add("Options", std::span<const OptionDef<FollowOptions>>(kTailOptions), options);
  return table;
}

OptionTable tail_options() {
  static FollowOptions shown;
  return table_of(shown);
}

int run_tail(int argc, char** argv) {
  FollowOptions options;
  const auto words = read_command(kTailCommand, table_of(options), argc, argv, Words::mixed);
  if (!words) return 0;
  if (words->size() > 1) usage_error("dslaunch tail takes only one job");
  std::vector<LiveJob> jobs = own_jobs();
  LiveJob job = take_job(jobs, words->empty() ? "" : words->front());
  follow(job, options);
  return 0;
}

}  // namespace

constinit const Command kTailCommand = {
    .name = "tail",
    .summary = "show the last output of a running job",
    .run = run_tail,
    .synopsis = "[JOB] [-n N] [-f] [--rank R]",
    .details =
        "JOB is the beginning of a job's id; it is optional if only one job runs. A job keeps the\n"
        "last 1 MiB of output of the ranks that it shows. The output of hidden ranks is sent only\n"
        "while --rank asks for it, beginning with the rank's last 20 lines.",
    .options = tail_options,
};

}  // namespace ds::launcher
