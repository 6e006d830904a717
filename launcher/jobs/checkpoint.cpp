// `dslaunch checkpoint`: a running training saves, and goes on.
#include <fmt/format.h>

#include <csignal>

#include "engine/base/error.h"
#include "launcher/cli/option_values.h"
#include "launcher/job/verdict.h"
#include "launcher/jobs/find_job.h"
#include "launcher/jobs/jobs.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

struct CheckpointOptions {
  std::chrono::milliseconds wait = 10min;
};

constexpr OptionDef<CheckpointOptions> kCheckpointOptions[] = {
    {{"--wait", "SECONDS",
      "for the outcome, at most so long (default: 10m); 0: ask, and do not wait"},
     [](CheckpointOptions& part, const GivenOption& given) { part.wait = duration_value(given); }},
};

OptionTable table_of(CheckpointOptions& options) {
  OptionTable table;
  table.add("Options", std::span<const OptionDef<CheckpointOptions>>(kCheckpointOptions), options);
  return table;
}

OptionTable checkpoint_options() {
  static CheckpointOptions shown;
  return table_of(shown);
}

/// A command gets no SIGUSR1 of ours: most programs die of it.
void check_that_it_trains(LiveJob& job) {
  job.client.send(InfoRequest{});
  const ControlMessage answer = answer_of(job);
  const auto* info = std::get_if<JobInfo>(&answer);
  if (info == nullptr) throw Error(ErrorKind::unreachable, "the job answers nonsense");
  if (info->trains) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("job {} runs a command, not a train.toml: dslaunch cannot tell it to save",
                  short_id(job.id)),
      fmt::format("if its program saves on a signal: dslaunch kill {} -s USR1", short_id(job.id)));
}

int tell(const LiveJob& job, const CheckpointOutcome& outcome) {
  if (!outcome.saved)
    throw Error(ErrorKind::system,
                printable(fmt::format("job {} has saved nothing at step {}: {}", short_id(job.id),
                                      outcome.step, outcome.details)),
                "the training goes on; earlier checkpoints are what they were");
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
      throw Error(ErrorKind::unreachable,
                  fmt::format("{} has ended with code {} before it told of a checkpoint", name,
                              done->code));
  }
  if (job.client.over()) throw Error(ErrorKind::unreachable, name + " went away without a word");
  if (is_suspended(job.client.pid()))
    throw Error(ErrorKind::deadline, name + " is suspended",
                fmt::format("let it go on: dslaunch kill {} --signal CONT", short_id(job.id)));
  throw Error(ErrorKind::deadline,
              fmt::format("{} has told of no checkpoint for {}", name, span_text(wait)),
              fmt::format("it may still come at the end of a step: dslaunch tail {}; --wait waits "
                          "longer",
                          short_id(job.id)));
}

int run_checkpoint(int argc, char** argv) {
  CheckpointOptions options;
  const auto words = read_command(kCheckpointCommand, table_of(options), argc, argv, Words::mixed);
  if (!words) return 0;
  if (words->size() > 1) usage_error("dslaunch checkpoint asks one job at a time");
  std::vector<LiveJob> jobs = own_jobs();
  LiveJob job = take_job(jobs, words->empty() ? "" : words->front());
  jobs.clear();
  check_that_it_trains(job);
  job.client.send(CheckpointRequest{});
  answer_of(job);
  return options.wait > 0ms ? wait_for_outcome(job, options.wait) : 0;
}

}  // namespace

constinit const Command kCheckpointCommand = {
    .name = "checkpoint",
    .summary = "let a running training save a checkpoint now, and go on",
    .run = run_checkpoint,
    .synopsis = "[JOB] [--wait SECONDS]",
    .details =
        "JOB is the beginning of a job's id; it may be left out when only one job runs. It saves "
        "at\n"
        "the end of the step under way, in the checkpoint.dir of its train.toml; what was saved "
        "is\n"
        "printed. Exit codes: 0 saved, 1 not saved, 64 a job that does not train, 69 a job that "
        "ends,\n"
        "124 nothing heard within --wait.",
    .options = checkpoint_options,
};

}  // namespace ds::launcher
