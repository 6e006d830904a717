// `dslaunch agent`: the agent on a node. Without arguments it reads frames on standard input; with
// --join=stdin a step of srun started it; with --join it is a node that joins a job.
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/agent/link.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_values.h"
#include "launcher/cli/options.h"
#include "launcher/cli/redact.h"
#include "launcher/commands/pods/first_process.h"
#include "launcher/commands/pods/pod_words.h"
#include "launcher/commands/pods/termination_log.h"
#include "launcher/commands/pods/termination_report.h"
#include "launcher/commands/start/await_hosts.h"
#include "launcher/commands/start/job_parts.h"
#include "launcher/commands/start/pod_job.h"
#include "launcher/commands/subcommands.h"
#include "launcher/join/join_key.h"
#include "launcher/join/joiner.h"
#include "launcher/slurm/step_agent.h"
#include "launcher/sources/peers.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kDetails =
    R"(Runs one node of a job whose nodes find each other, as the entrypoint of a pod. Every pod runs the
same command line. ssh, the Kubernetes API and a launcher pod are not needed.

    dslaunch agent --join [options] -- COMMAND ARGS...
    dslaunch agent --join [options] train.toml [key=value ...]
    dslaunch agent --join --root HOST [options]

The names of all nodes and the index of this node come from --peers and --node-rank, or from the
environment of a pod of an Indexed Job, JobSet, StatefulSet, LeaderWorkerSet or Volcano job. The
node with index 0 is the root: it waits for the others, starts the ranks everywhere and tells all
nodes the result; all nodes exit with the same code. With --root the root runs elsewhere and has the
command. Nodes first prove a shared secret to each other: DSLAUNCH_TOKEN, or see --key-file.

TERM to any node stops the job on all nodes. If the agent is the first process of a container, it
also reaps the processes that its ranks leave behind. The options of dslaunch for ranks, failures,
output and MASTER_ADDR are accepted too; those of the root apply.)";

/// Prints lines and remembers the last one: the reason why a node without a verdict ended.
class Speaker {
 public:
  void operator()(std::string_view text) {
    last_ = text;
    say_line(text);
  }
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  std::string last_;
};

void leave_report(TerminationLog& log, const std::string& report) {
  if (const auto problem = log.write(report)) say_line(*problem);
}

int run_joining(const Options& options, const Peers& peers, TerminationLog& log) {
  const PodOptions& pods = options.pods;
  Speaker speaker;
  JoinerSetup setup;
  setup.key = key_of_job(pods);
  setup.job = pods.job_id.value_or(peers.job);
  setup.place = peers.names[static_cast<std::size_t>(peers.index)];
  const RootWord root = root_of(pods, peers);
  setup.roots = {RootAddress{root.host, root.port}};
  setup.wait = pods.wait;
  setup.say = [&speaker](std::string_view text) { speaker(text); };
  setup.on_over = [&log](const JoinOver& over) { leave_report(log, over.report); };
  const int code = run_joiner(setup);
  if (!log.written())
    leave_report(
        log,
        termination_json(
            {.exit_code = code, .reason = speaker.last(), .job = setup.job, .node = setup.place}));
  return code;
}

int run_root(const Options& options, const Peers& peers, TerminationLog& log) {
  const EnvList own = own_variables();
  const std::vector<NamedValue> given = given_variables(options.env, own, say_warning);
  JobEnvironment environment = job_environment(options.env, given, own);
  std::vector<Program> programs = programs_of(options, own);
  JoinedJobSetup setup = joined_setup(options, peers);
  setup.key = key_of_job(options.pods);
  setup.bind_address = listening_address(peers);
  setup.own_place = peers.names.front();
  setup.on_report = [&log](const std::string& report) { leave_report(log, report); };
  return run_joined_job(options, setup, std::move(programs), std::move(environment));
}

int run_node(const Options& options, TerminationLog& log) {
  const Peers peers = find_peers(this_world(), peer_request(options.pods));
  say_line(peers.line);
  if (in_pod())
    if (const auto advice = grace_advice(options.failure.grace)) say_line(*advice);
  const bool is_root = peers.index == 0 && !options.pods.root;
  return is_root ? run_root(options, peers, log) : run_joining(options, peers, log);
}

int run_joined(const Options& options) {
  TerminationLog log(options.pods.termination_log);
  try {
    const int code = run_node(options, log);
    if (code != 0 || options.pods.on_success == AfterSuccess::exit) return code;
    say_line("the job succeeded; this node stays until TERM (--on-success idle)");
    wait_for_end_signal();
    return 0;
  } catch (const Error& error) {
    const int code = contract::exit_code(error.kind());
    leave_report(log, termination_json({.exit_code = code, .reason = error.what()}));
    throw;
  }
}

/// Parses the command line; writes an error to the pod's termination log as well.
Options read_words(int argc, char** argv) {
  try {
    return parse_agent_args(argc, argv);
  } catch (const Error& error) {
    TerminationLog log(std::nullopt);
    leave_report(log, termination_json({.exit_code = contract::exit_code(error.kind()),
                                        .reason = error.what()}));
    throw;
  }
}

int run_agent(int argc, char** argv) {
  if (argc == 1) return run_guard(STDIN_FILENO, STDOUT_FILENO);
  if (argc == 2 && argv[1] == std::string_view("--join=stdin")) return run_step_agent();
  const Options options = read_words(argc, argv);
  blank_values(argc, argv);
  if (options.action != Options::Action::run) return print(command_help(kAgentCommand));
  if (const auto code = go_on_below_first_process(hide_join_token)) return *code;
  return run_joined(options);
}

OptionTable own_options() {
  static Options options;
  return own_agent_table(options);
}

OptionTable all_options() {
  static Options options;
  return agent_table(options);
}

}  // namespace

const Command kAgentCommand{
    .name = "agent",
    .summary = "run one node of a job whose nodes find each other, as pods do",
    .run = run_agent,
    .synopsis = "--join [options] -- COMMAND ARGS... | train.toml",
    .details = kDetails,
    .options = own_options,
    .all_options = all_options};

}  // namespace ds::launcher
