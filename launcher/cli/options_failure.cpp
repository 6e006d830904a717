// Options of failures: deadlines, signals, restarts, spares and the verdict.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/exit_status.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr int kMaxRestarts = 1'000'000;
constexpr int kMaxSpares = 65'536;
constexpr int kMostNodesGiven = 65'536;
/// Default of --max-restarts with --nodes, as in torchrun's elastic mode.
constexpr int kElasticRestarts = 3;
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
      "Time between TERM and KILL when ranks are stopped: 10, 2.5s, 500ms, 2m\n"
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
    {{"--max-restarts", "N",
      "Restart all ranks after a failure, at most N times (default: 0; with\n"
      "--nodes: 3, and lost or new nodes do not count)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.max_restarts = number_value(given, 0, kMaxRestarts);
       part.restarts_given = true;
     }},
    {{"--nodes", "MIN:MAX",
      "Let the number of nodes change while the job runs: nodes that are lost\n"
      "leave, hosts that answer join, and all ranks start again with new\n"
      "numbers; hosts beyond MAX wait as spares; MIN: alone: up to all hosts;\n"
      "N: the same as N:N"},
     [](FailureOptions& part, const GivenOption& given) { part.nodes = node_range_value(given); }},
    {{"--on-loss", "HOW",
      "With --nodes, after the loss of a node without a spare: smaller: go on\n"
      "with fewer nodes, at least MIN; wait: wait for a host first, up to\n"
      "--max-wait (default: smaller)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.on_loss = static_cast<OnLoss>(choice_value(given, "smaller|wait"));
     }},
    {{"--admit", "WHEN",
      "With --nodes, when new hosts join: next: at the next restart, or after\n"
      "ranks exit with 94; now: the ranks are stopped for it; auto: a training\n"
      "ends its step first, other programs as next (default: auto)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.admit = static_cast<Admit>(choice_value(given, "auto|next|now"));
     }},
    {{"--max-wait", "SECONDS",
      "With --nodes, maximum time to wait for hosts when fewer than MIN are\n"
      "left (default: 10m, or the time for starting nodes if that is longer)"},
     [](FailureOptions& part, const GivenOption& given) {
       part.max_wait = positive_duration_value(given);
     }},
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

NodeRange node_range_value(const GivenOption& given) {
  const std::string_view text = given.value;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::optional<int> least = whole_number<int>(text.substr(0, colon));
  const std::string_view last = text.substr(std::min(colon + 1, text.size()));
  const std::optional<int> most = colon == text.size() ? least
                                  : last.empty()       ? std::optional(0)
                                                       : whole_number<int>(last);
  if (!least || !most || *most > kMostNodesGiven)
    usage_error(fmt::format("{} must be MIN:MAX, MIN: or N, not '{}'", given.name, given.value),
                fmt::format("for example 2:8; at most {}", kMostNodesGiven));
  if (*least < 1)
    usage_error(fmt::format("{} {}: MIN must be at least 1", given.name, given.value));
  if (!last.empty() && *most < *least)
    usage_error(fmt::format("{} {}: MIN is greater than MAX", given.name, given.value),
                fmt::format("did you mean {}:{}?", *most, *least));
  return {*least, *most};
}

void finish_elastic_options(FailureOptions& options) {
  const auto needs_nodes = [](bool given, std::string_view option) {
    if (given)
      usage_error(fmt::format("{} needs --nodes", option),
                  "--nodes MIN:MAX lets the number of nodes change");
  };
  if (!options.nodes) {
    needs_nodes(options.on_loss.has_value(), "--on-loss");
    needs_nodes(options.admit.has_value(), "--admit");
    needs_nodes(options.max_wait.has_value(), "--max-wait");
    return;
  }
  if (options.spares > 0)
    usage_error("--nodes and --spares cannot be combined",
                "with --nodes MIN:MAX all hosts beyond MAX are spares");
  if (!options.restarts_given) options.max_restarts = kElasticRestarts;
  ElasticPolicy& elastic = options.elastic.emplace();
  elastic.nodes = *options.nodes;
  elastic.on_loss = options.on_loss.value_or(elastic.on_loss);
  elastic.admit = options.admit.value_or(elastic.admit);
  elastic.max_wait = options.max_wait.value_or(elastic.max_wait);
}

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
