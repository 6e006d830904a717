// Deadlines, and what follows a failure.
#include "launcher/cli/options_failure.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/exit_status.h"
#include "launcher/cli/duration.h"
#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

constexpr int kMaxRestarts = 1'000'000;
constexpr int kMaxSpares = 65'536;
// Those that dslaunch answers itself, that nobody can catch, or that tell of its own trouble.
constexpr int kNotForwarded[] = {SIGINT,  SIGTERM, SIGTSTP, SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE,
                                 SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTRAP, SIGSYS};

/// USR1@120s.
void set_pre_signal(FailureOptions& part, const GivenOption& given) {
  const std::size_t at = given.value.find('@');
  const std::optional<int> signo = signal_number(given.value.substr(0, at));
  const auto before =
      at == std::string::npos ? std::nullopt : parse_duration(given.value.substr(at + 1));
  if (!signo || !before || before->count() == 0)
    usage_error(fmt::format("{} needs a signal and a time, not '{}'", given.name, given.value),
                "as in USR1@120s");
  part.pre_signal = PreSignal{*signo, *before};
}

/// USR1,USR2,CONT; or none.
void set_forward_signals(FailureOptions& part, const GivenOption& given) {
  part.forward_signals.clear();
  if (given.value == "none") return;
  for (std::size_t from = 0; from <= given.value.size();) {
    const std::size_t comma = std::min(given.value.find(',', from), given.value.size());
    const std::string word = given.value.substr(from, comma - from);
    const std::optional<int> signo = signal_number(word);
    if (!signo)
      usage_error(fmt::format("{} needs names of signals, not '{}'", given.name, word),
                  "as in USR1,USR2,CONT; or none");
    if (std::find(std::begin(kNotForwarded), std::end(kNotForwarded), *signo) !=
        std::end(kNotForwarded))
      usage_error(fmt::format("{}: {} cannot be passed on", given.name, signal_name(*signo)),
                  "INT, TERM and TSTP stop or suspend the ranks as they are");
    part.forward_signals.push_back(*signo);
    from = comma + 1;
  }
}

/// 60s or 60s:stop.
void set_exit_skew(FailureOptions& part, const GivenOption& given) {
  const std::size_t colon = given.value.find(':');
  const std::string word = colon == std::string::npos ? "" : given.value.substr(colon + 1);
  const auto after = parse_duration(given.value.substr(0, colon));
  if (!after || (colon != std::string::npos && word != "stop"))
    usage_error(fmt::format("{} needs a time, not '{}'", given.name, given.value),
                "as in 60s (warn), 60s:stop (end the job), 0 (never)");
  part.exit_skew = {*after, word == "stop"};
}

void set_verdict(FailureOptions& part, const GivenOption& given) {
  if (given.value == "-")
    usage_error(fmt::format("{} needs a file, not '-'", given.name),
                "standard output is /dev/stdout");
  part.verdict = text_value(given);
}

constexpr OptionDef<FailureOptions> kFailureOptions[] = {
    {{"--grace", "SECONDS",
      "between TERM and KILL of a stopping rank: 10, 10s, 500ms, 2m\n"
      "(default: 10s; of a train.toml, which saves a checkpoint: 25s)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.grace = duration_value(given);
       part.grace_given = true;
     }},
    {{"--timeout", "SECONDS", "end the job after so long, with exit code 124"},
     [](FailureOptions& part, const GivenOption& given) {
       part.timeout = positive_duration_value(given);
     }},
    {{"--pre-signal", "SIGNAL@SECONDS",
      "send SIGNAL to all ranks so long before --timeout, or the time of the\n"
      "Slurm job, is over, as in USR1@120s"},
     set_pre_signal},
    {{"--forward-signals", "LIST",
      "signals that dslaunch passes on to the ranks; none (default:\nUSR1,USR2)"},
     set_forward_signals},
    {{"--exit-skew", "SECONDS[:stop]",
      "warn when some ranks have ended with 0 and the others run on so\n"
      "long; with :stop end the job, exit code 124 (default: 60s; 0: never)"},
     set_exit_skew},
    {{"--node-timeout", "SECONDS", "a node silent for longer is lost (default: 8s)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.node_timeout = positive_duration_value(given);
     }},
    {{"--max-restarts", "N", "after a failure start all ranks again, at most N times (default: 0)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.max_restarts = number_value(given, 0, kMaxRestarts);
     }},
    {{"--spares", "K",
      "hold the last K hosts back: they stand in for hosts that cannot be\n"
      "used and, with --max-restarts, for lost ones"},
     [](FailureOptions& part, const GivenOption& given) {
       part.spares = number_value(given, 0, kMaxSpares);
     }},
    {{"--verdict", "FILE", "write how the job went to FILE, as JSON"}, set_verdict},
    {{"--isolate", "MODE",
      "pid: the ranks of a node get a PID namespace, and nothing outlives the\n"
      "job, whatever is killed or stopped; an error where a node allows none.\n"
      "none: they do not. auto: dsrunner does where root runs it (default)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.isolate = choice_value<IsolateWish, 3>(given, {"auto", "pid", "none"});
     }},
};

}  // namespace

std::span<const OptionDef<FailureOptions>> failure_options() { return kFailureOptions; }

void default_grace(FailureOptions& options, bool trains) {
  if (trains && !options.grace_given) options.grace = kTrainingGrace;
}

void take_time_left(FailureOptions& options, std::optional<std::chrono::milliseconds> time_left) {
  constexpr std::chrono::milliseconds kLeast{1000};
  if (time_left && options.pre_signal && !options.timeout)
    options.timeout = std::max(*time_left - options.grace, kLeast);
}

void check_failure_options(const FailureOptions& options) {
  if (!options.pre_signal) return;
  if (!options.timeout)
    usage_error("--pre-signal needs a deadline",
                "give one with --timeout SECONDS; in a Slurm job SLURM_JOB_END_TIME is one");
  if (options.pre_signal->before >= *options.timeout)
    usage_error("--pre-signal would come before the job begins",
                "its time must be shorter than that of --timeout");
}

}  // namespace ds::launcher
