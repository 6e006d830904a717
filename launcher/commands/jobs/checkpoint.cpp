// `dslaunch checkpoint`: asks a running training to save a checkpoint and waits for the result.
#include <fmt/format.h>

#include <csignal>

#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/jobs/find_job.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

struct CheckpointOptions {
  std::chrono::milliseconds wait = 10min;
};

constexpr OptionDef<CheckpointOptions> kCheckpointOptions[] = {
    {{"--wait", "SECONDS", "Maximum time to wait for the result; 0: do not wait (default: 10m)"},
     set_duration<&CheckpointOptions::wait>},
};

/// Refuses a job that runs a command: SIGUSR1 would kill most programs.
void check_that_it_trains(LiveJob& job) {
  if (info_of(job).trains) return;
  throw Error(ErrorKind::usage,
              fmt::format("job {} runs a command, not a train.toml: dslaunch cannot ask it to save",
                          short_id(job.id)),
              fmt::format("if its program saves on a signal, run: dslaunch kill {} -s USR1",
                          short_id(job.id)));
}

int tell(const LiveJob& job, const CheckpointOutcome& outcome) {
  if (!outcome.saved)
    throw Error(ErrorKind::system,
                printable(fmt::format("job {} could not save at step {}: {}", short_id(job.id),
                                      outcome.step, outcome.details)),
                "the training continues; earlier checkpoints are unchanged");
  return print(printable(
      fmt::format("step {} saved in {} ({})\n", outcome.step, outcome.folder, outcome.details)));
}

int wait_for_outcome(LiveJob& job, std::chrono::milliseconds wait) {
  const Deadline deadline = Deadline::after(wait);
  const std::string name = "job " + short_id(job.id);
  while (!job.client.over() && !deadline.passed()) {
    const auto message = job.client.next(deadline);
    if (!message) continue;
    if (const auto* outcome = std::get_if<CheckpointOutcome>(&*message)) return tell(job, *outcome);
    if (const auto* done = std::get_if<JobDone>(&*message))
      throw Error(
          ErrorKind::unreachable,
          fmt::format("{} ended with code {} before it reported a checkpoint", name, done->code));
  }
  if (job.client.over()) throw Error(ErrorKind::unreachable, name + " exited unexpectedly");
  if (is_suspended(job.client.pid()))
    throw Error(ErrorKind::deadline, name + " is suspended",
                fmt::format("resume it with: dslaunch kill {} --signal CONT", short_id(job.id)));
  throw Error(
      ErrorKind::deadline,
      fmt::format("{} did not report a checkpoint within {}", name, span_text(wait)),
      fmt::format("it may still save at the end of a step; see dslaunch tail {}, or wait longer "
                  "with --wait",
                  short_id(job.id)));
}

int run_checkpoint(int argc, char** argv) {
  CheckpointOptions options;
  const auto words =
      read_command(kCheckpointCommand, table_of(kCheckpointOptions, options), argc, argv);
  if (!words) return 0;
  LiveJob job = only_job(kCheckpointCommand, *words, own_jobs());
  check_that_it_trains(job);
  job.client.send(CheckpointRequest{});
  answer_of(job);
  return options.wait > 0ms ? wait_for_outcome(job, options.wait) : 0;
}

}  // namespace

constinit const Command kCheckpointCommand = {
    .name = "checkpoint",
    .summary = "Ask a running training to save a checkpoint now",
    .run = run_checkpoint,
    .synopsis = "[JOB] [--wait SECONDS]",
    .details =
        R"(JOB is the beginning of a job's id; it is optional if only one job runs. The job saves at the
end of the current step, in the checkpoint.dir of its train.toml, and continues. The saved
step and folder are printed. While the job waits for hosts nothing is saved, which is said at
once. Exit code: 0 saved, 1 not saved, 64 the job does not train, 69 the job ended or waits
for hosts, 124 no result within --wait.)",
    .options = shown_table<kCheckpointOptions>,
};

}  // namespace ds::launcher
