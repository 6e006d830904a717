// Options of failures: deadlines, signals, restarts, spares and the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/exit_status.h"
#include "engine/base/split.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr int kMaxRestarts = 1'000'000;
constexpr int kMaxSpares = 65'536;
/// Grace of a training, which saves a checkpoint before it ends: most of Kubernetes' 30 s.
constexpr std::chrono::seconds kTrainingGrace{25};
/// Shortest deadline that the end of an allocation sets.
constexpr std::chrono::milliseconds kLeastTimeout{1000};
// Signals that dslaunch handles itself, that cannot be caught, or that report its own crash.
constexpr int kNotForwarded[] = {SIGINT,  SIGTERM, SIGTSTP, SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE,
                                 SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTRAP, SIGSYS};

/// Reads USR1@120s.
void set_pre_signal(FailureOptions& part, const GivenOption& given) {
  const std::size_t at = given.value.find('@');
  const std::optional<int> signo = signal_number(given.value.substr(0, at));
  const auto before =
      at == std::string::npos ? std::nullopt : parse_duration(given.value.substr(at + 1));
  if (!signo || !before || before->count() == 0)
    usage_error(fmt::format("{} must be SIGNAL@SECONDS, not '{}'", given.name, given.value),
                "for example USR1@120s");
  part.pre_signal = PreSignal{*signo, *before};
}

/// Reads USR1,USR2,CONT or none.
void set_forward_signals(FailureOptions& part, const GivenOption& given) {
  part.forwarded_signals.clear();
  if (given.value == "none") return;
  for (const std::string_view piece : split(given.value, ',')) {
    const std::string word(piece);
    const std::optional<int> signo = signal_number(word);
    if (!signo)
      usage_error(fmt::format("{} must be a list of signals, not '{}'", given.name, word),
                  "for example USR1,USR2,CONT; or none");
    if (std::ranges::count(kNotForwarded, *signo) > 0)
      usage_error(fmt::format("{}: {} cannot be forwarded", given.name, signal_name(*signo)),
                  "INT, TERM and TSTP always stop or suspend the ranks");
    part.forwarded_signals.push_back(*signo);
  }
}

/// Reads 60s or 60s:stop.
void set_exit_skew(FailureOptions& part, const GivenOption& given) {
  const std::size_t colon = given.value.find(':');
  const std::string word = colon == std::string::npos ? "" : given.value.substr(colon + 1);
  const auto after = parse_duration(given.value.substr(0, colon));
  if (!after || (colon != std::string::npos && word != "stop"))
    usage_error(fmt::format("{} must be a duration, not '{}'", given.name, given.value),
                "for example 60s (warn), 60s:stop (stop the job), 0 (never)");
  part.exit_skew = {*after, word == "stop"};
}

void set_verdict(FailureOptions& part, const GivenOption& given) {
  if (given.value == "-")
    usage_error(fmt::format("{} must be a file, not '-'", given.name),
                "use /dev/stdout for standard output");
  part.verdict = text_value(given);
}

constexpr OptionDef<FailureOptions> kFailureOptions[] = {
    {{"--grace", "SECONDS",
      "Time between TERM and KILL when ranks are stopped: 10, 10s, 500ms, 2m\n"
      "(default: 10s; for a train.toml, which saves a checkpoint: 25s)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.grace = agent_duration_value(given);
       part.grace_given = true;
     }},
    {{"--timeout", "SECONDS", "Stop the job after SECONDS and exit with 124"},
     set_positive_duration<&FailureOptions::timeout>},
    {{"--pre-signal", "SIGNAL@SECONDS",
      "Send SIGNAL to all ranks SECONDS before --timeout or before the end of\n"
      "the Slurm job, for example USR1@120s"},
     set_pre_signal},
    {{"--forward-signals", "LIST",
      "Signals that dslaunch forwards to the ranks, or none (default:\nUSR1,USR2)"},
     set_forward_signals},
    {{"--exit-skew", "SECONDS[:stop]",
      "Warn if ranks still run SECONDS after others exited with 0; with :stop\n"
      "stop the job with exit code 124 (default: 60s; 0: never)"},
     set_exit_skew},
    {{"--node-timeout", "SECONDS",
      "Time without a heartbeat after which a node is lost, at least 100ms\n(default: 8s)"},
     set_node_timeout<&FailureOptions::node_timeout>},
    {{"--mpi-timeout", "SECONDS",
      "Stop the job with exit code 124 if ranks of an MPI program wait so long\n"
      "for others in MPI_Init (default: 10m; 0: never)"},
     set_duration<&FailureOptions::mpi_timeout>},
    {{"--max-restarts", "N", "Restart all ranks after a failure, at most N times (default: 0)"},
     set_number<0, kMaxRestarts, &FailureOptions::max_restarts>},
    {{"--spares", "K",
      "Keep the last K hosts in reserve for hosts that cannot be used and,\n"
      "with --max-restarts, for lost hosts (default: 0)"},
     set_number<0, kMaxSpares, &FailureOptions::spares>},
    {{"--verdict", "FILE", "Write the result of the job to FILE, as JSON"}, set_verdict},
    {{"--isolate", "MODE",
      "Give the ranks of a node a PID namespace, so that no process can\n"
      "outlive the job: pid: always, an error if a node does not allow it;\n"
      "none: never; auto: only for dsrunner, if root runs it (default: auto)"},
     set_choice<"auto|pid|none", &FailureOptions::isolate>},
};

}  // namespace

std::span<const OptionDef<FailureOptions>> failure_options() { return kFailureOptions; }

void finish_failure_options(FailureOptions& options, bool trains,
                            std::optional<std::chrono::milliseconds> time_left) {
  if (trains && !options.grace_given) options.grace = kTrainingGrace;
  if (!options.pre_signal) return;
  if (time_left && !options.timeout)
    options.timeout = std::max(*time_left - options.grace, kLeastTimeout);
  if (!options.timeout)
    usage_error("--pre-signal needs a deadline",
                "give one with --timeout SECONDS; in a Slurm job SLURM_JOB_END_TIME sets it");
  if (options.pre_signal->before >= *options.timeout)
    usage_error("--pre-signal would be sent before the job begins",
                "its time must be shorter than --timeout");
}

}  // namespace ds::launcher
