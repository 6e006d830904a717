// `dslaunch kill`: stops running jobs or sends them a signal.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <vector>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/jobs/find_job.h"

namespace ds::launcher {
namespace {

using namespace std::chrono_literals;

struct KillOptions {
  int signo = SIGTERM;
  std::optional<std::chrono::milliseconds> grace;
  bool wait = false;
};

constexpr OptionDef<KillOptions> kKillOptions[] = {
    {{"--signal,-s", "SIGNAL",
      "TERM (default), INT and HUP stop the job; KILL stops it without a\n"
      "grace; STOP suspends and CONT resumes it; any other signal goes to the\n"
      "main process of each rank; as USR1, SIGUSR1 or 10"},
     [](KillOptions& part, const GivenOption& given) { part.signo = signal_value(given); }},
    {{"--grace", "SECONDS", "Time between TERM and KILL (default: the job's own --grace)"},
     set_grace<&KillOptions::grace>},
    {{"--wait", "", "Wait until the job has ended"}, set_flag<&KillOptions::wait>},
};

/// Wakes a suspended launcher, which cannot read, with CONT: for CONT itself and for signals that
/// end the job, as a shell's kill does.
void wake_if_suspended(const LiveJob& job, int signo) {
  const bool ends = signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGKILL;
  const pid_t pid = job.client.pid();
  if (pid > 0 && (signo == SIGCONT || (ends && is_suspended(pid)))) ::kill(pid, SIGCONT);
}

void wait_for_end(LiveJob& job) {
  while (!job.client.over()) {
    const auto message = job.client.next(Deadline::after(1h));
    if (!message || !std::holds_alternative<JobDone>(*message)) continue;
    fmt::print(stderr, "dslaunch: job {} ended with code {}\n", short_id(job.id),
               std::get<JobDone>(*message).code);
    return;
  }
  throw Error(ErrorKind::unreachable, fmt::format("job {} exited unexpectedly", short_id(job.id)));
}

void signal_job(LiveJob& job, const KillOptions& options) {
  if (job.client.pid() <= 0)
    throw Error(ErrorKind::unreachable, fmt::format("job {} does not answer", short_id(job.id)));
  if (options.wait) job.client.send(WaitRequest{});
  if (options.signo != SIGCONT) {
    job.client.send(SignalRequest{.signo = options.signo,
                                  .grace_ms = options.grace ? options.grace->count() : -1});
  }
  wake_if_suspended(job, options.signo);
  if (options.signo != SIGCONT) answer_of(job);
}

/// Calls action(job). Prints an error, whose exit code the first one gives to `code`, so that the
/// other jobs get their signal too. Returns whether it worked.
template <class Action>
bool attempt(LiveJob& job, const Action& action, int& code) {
  try {
    action(job);
    return true;
  } catch (const Error& error) {
    std::fputs(("dslaunch: " + error.for_people() + "\n").c_str(), stderr);
    if (code == 0) code = contract::exit_code(error.kind());
    return false;
  }
}

int run_kill(int argc, char** argv) {
  KillOptions options;
  const auto words = read_command(kKillCommand, table_of(kKillOptions, options), argc, argv);
  if (!words) return 0;
  if (words->empty())
    usage_error("no job is given", "usage: dslaunch kill JOB; dslaunch ps lists the jobs");
  if (options.grace && options.signo != SIGTERM && options.signo != SIGINT &&
      options.signo != SIGHUP)
    usage_error(
        fmt::format("--grace cannot be combined with signal {}", signal_name(options.signo)));
  for (const std::string& word : *words)
    if (word.empty()) usage_error("the job id must not be empty");
  std::vector<LiveJob> jobs = chosen_jobs(own_jobs(), *words);
  std::vector<LiveJob*> signaled;
  int code = 0;
  for (LiveJob& job : jobs)
    if (attempt(job, [&](LiveJob& each) { signal_job(each, options); }, code))
      signaled.push_back(&job);
  if (options.wait)
    for (LiveJob* job : signaled) attempt(*job, wait_for_end, code);
  return code;
}

}  // namespace

constinit const Command kKillCommand = {
    .name = "kill",
    .summary = "Stop running jobs, or send them a signal",
    .run = run_kill,
    .synopsis = "JOB... [--signal SIGNAL] [--grace SECONDS] [--wait]",
    .details =
        "JOB is the beginning of a job's id, as printed by dslaunch ps. Without options the job "
        "is\n"
        "stopped as by Ctrl-C: every rank gets TERM, and KILL after the grace. A second kill of a\n"
        "job that is already stopping ends the grace.",
    .options = shown_table<kKillOptions>,
};

}  // namespace ds::launcher
