// `dslaunch ps`: lists the running jobs of this user on this machine.
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/jobs/find_job.h"
#include "launcher/control/job_client.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

/// Time for all answers. A job that does not answer is listed without details.
constexpr auto kAnswerWithin = 1s;

struct PsOptions {
  bool json = false;
  bool ids = false;
};

constexpr OptionDef<PsOptions> kPsOptions[] = {
    {{"--json", "", "Print a JSON array with all details instead of a table"},
     set_flag<&PsOptions::json>},
    {{"--ids,-q", "", "Print only the ids, one per line"}, set_flag<&PsOptions::ids>},
};

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int run_ps(int argc, char** argv) {
  PsOptions options;
  const auto words = read_command(kPsCommand, table_of(kPsOptions, options), argc, argv);
  if (!words) return 0;
  if (!words->empty()) usage_error("dslaunch ps takes no arguments, only options");
  std::vector<LiveJob> jobs = own_jobs();
  if (options.ids) {
    std::string text;
    for (const LiveJob& job : jobs) text += job.id + "\n";
    return print(text);
  }
  std::vector<JobInfo> infos = describe_jobs(jobs, Deadline::after(kAnswerWithin));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  return print(options.json ? jobs_json(std::move(infos), now_ms)
                            : jobs_table(std::move(infos), now_ms, terminal_columns()));
}

}  // namespace

constinit const Command kPsCommand = {
    .name = "ps",
    .summary = "List your running jobs on this machine",
    .run = run_ps,
    .synopsis = "[--json]",
    .details =
        "Jobs are listed only on the machine and for the user that started them. JOB is the\n"
        "beginning of the job's id, RANKS the number of ranks, or how many of them still run.",
    .options = shown_table<kPsOptions>,
};

}  // namespace ds::launcher
