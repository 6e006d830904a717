// `dslaunch agent` and `dslaunch --k8s --transport join`: the agent of a node, and the job of pods.
// An agent without arguments reads frames on standard input. An agent with --join=stdin was started
// by a step of srun. An agent with --join dials the root of a job.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/agent/link.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/commands/pods/pod_words.h"
#include "launcher/commands/start/job_request.h"
#include "launcher/commands/start/joined_job.h"
#include "launcher/commands/start/routes.h"
#include "launcher/dns/dns_lookup.h"
#include "launcher/hosts/host_word.h"
#include "launcher/join/join_key.h"
#include "launcher/join/joiner.h"
#include "launcher/slurm/agent_steps.h"
#include "launcher/sources/own_names.h"
#include "launcher/sources/peers.h"
#include "launcher/sources/world.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kDetails =
    R"(Runs one node of a job whose nodes find each other, as the entrypoint of a pod. Every pod runs the
same command line. ssh, the Kubernetes API and a launcher pod are not needed.

    dslaunch agent --join [options] -- COMMAND ARGS...
    dslaunch agent --join [options] train.toml [key=value ...]
    dslaunch agent --join --root HOST --nodes MIN:MAX [options] -- COMMAND ARGS...
    dslaunch agent --join --root HOST [options]

The names of all nodes and the index of this node come from --peers and --node-rank, or from the
environment of a pod of an Indexed Job, JobSet, StatefulSet, LeaderWorkerSet or Volcano job. The
node with index 0 is the root: it waits for the others, starts the ranks everywhere and tells all
nodes the result; all nodes exit with the same code. With --root and a command no names are needed:
the node that has the address HOST is the root, and the others join it. With --root and no command
the root runs elsewhere. Nodes first prove a shared secret to each other: DSLAUNCH_TOKEN, or see
--key-file.

TERM to any node stops the job on all nodes. With --nodes MIN:MAX, a node other than the root leaves
the job instead, as long as at least MIN are left. If the agent is the first process of a container,
it also reaps the processes that its ranks leave behind. The options of dslaunch for ranks,
failures, output and MASTER_ADDR are accepted too; those of the root apply.)";

/// As torchrun's: time for further nodes once MIN are there.
constexpr std::chrono::seconds kLastCall{30};

void leave_report(TerminationLog& log, const std::string& report) {
  if (const auto problem = log.write(report)) say_line(*problem);
}

/// Returns the setup of a job of pods, which reports to `log`.
JoinedJobSetup joined_setup(const Options& options, const Peers& peers, TerminationLog& log) {
  JoinedJobSetup setup;
  setup.job = options.pods.job_id.value_or(peers.job);
  setup.places = peer_hosts(options.pods, peers);
  setup.port = root_of(options.pods, peers).port;
  setup.wait = options.pods.wait;
  setup.dial_of = [peers](const std::string& place) {
    const auto found = std::find(peers.names.begin(), peers.names.end(), place);
    return peers.dial[static_cast<std::size_t>(found - peers.names.begin())];
  };
  setup.report = [&log, job = setup.job](const std::string& verdict, int code) {
    TerminationReport report = termination_report(verdict, code);
    report.job = job;
    const std::string text = termination_json(report);
    leave_report(log, text);
    return text;
  };
  setup.key = key_of_job(options.pods);
  return setup;
}

int run_joining(const Options& options, const Peers& peers, TerminationLog& log) {
  const PodOptions& pods = options.pods;
  std::string last;  // the reason why a node without a verdict ended
  JoinerSetup setup;
  setup.key = key_of_job(pods);
  setup.job = pods.job_id.value_or(peers.job);
  setup.place = peers.names[static_cast<std::size_t>(peers.index)];
  const RootWord root = root_of(pods, peers);
  setup.roots = {RootAddress{root.host, root.port}};
  setup.wait = pods.wait;
  setup.first_dial = first_look(root.host);
  if (setup.first_dial.count() > 0) setup.knocks_at = own_variable("POD_IP").value_or("");
  setup.say = [&last](std::string_view text) {
    last = text;
    say_line(text);
  };
  setup.on_over = [&log](const JoinOver& over) {
    if (!over.report.empty()) leave_report(log, over.report);
  };
  const int code = run_joiner(setup);
  if (!log.written())
    leave_report(log,
                 termination_json(
                     {.exit_code = code, .reason = last, .job = setup.job, .node = setup.place}));
  return code;
}

/// Returns whether the node only knows its root, not its peers.
bool knows_root_only(const Options& options) {
  const bool runs = !options.command.empty() || options.train;
  return options.pods.root && !options.pods.peers && (runs || !in_pod());
}

std::string own_node_name(const PodOptions& pods) {
  if (pods.node_name) return *pods.node_name;
  return own_variable("SLURMD_NODENAME").value_or(this_world().hostname);
}

/// Returns whether this node has the name or an address of the root.
bool is_root_here(const std::string& root, const std::string& own_name) {
  const OwnNames own = own_names();
  Host host;
  host.name = root;
  if (root == own_name || is_own_host(host, own)) return true;
  bool here = false;
  asio::io_context io(1);
  DnsLookup lookup(io);
  lookup.look_up(root, [&](const DnsResult& result) {
    here = std::ranges::any_of(result.addresses, [&](const auto& address) {
      return std::ranges::count(own.addresses, address.to_string()) > 0;
    });
  });
  io.run();
  return here;
}

/// Runs a node that finds the others by the address of the root.
int run_at_root(const Options& options, TerminationLog& log) {
  const RootWord root = root_of(options.pods, {});
  Peers peers;
  peers.names = peers.dial = {own_node_name(options.pods)};
  const bool runs = !options.command.empty() || options.train;
  if (!runs || !is_root_here(root.host, peers.names.front())) {
    if (own_variable("SLURM_STEP_ID")) prepare_step_agent();
    return run_joining(options, peers, log);
  }
  peers.job = fmt::format("{}:{}", root.host, root.port);
  JobParts parts = job_parts(options);
  JoinedJobSetup setup = joined_setup(options, peers, log);
  setup.dial_of = nullptr;
  setup.bind_address = read_address(root.host);
  setup.own_place = peers.names.front();
  setup.open = OpenJob{.slots = options.pods.slots, .last_call = kLastCall};
  const auto& [least, most] = *options.failure.nodes;
  say_line(fmt::format("this node, {}, is the root: {}{}", *setup.own_place,
                       least == most ? "" : fmt::format("{} to ", least), counted(most, "node")));
  return run_joined_job(options, setup, std::move(parts));
}

int run_node(Options options, TerminationLog& log) {
  if (knows_root_only(options)) return run_at_root(options, log);
  const Peers peers = find_peers(this_world(), peer_request(options));
  say_line(peers.line);
  const int count = static_cast<int>(peers.names.size());
  if (!options.failure.nodes && peers.least < count)  // PET_NNODES=2:4
    let_nodes_change(options, {peers.least, count});
  if (in_pod())
    if (const auto advice = grace_advice(options.failure.grace, own_variable(kPodLeave)))
      say_line(*advice);
  if (peers.index != 0 || options.pods.root) return run_joining(options, peers, log);
  JobParts parts = job_parts(options);
  JoinedJobSetup setup = joined_setup(options, peers, log);
  setup.bind_address = listening_address(peers);
  setup.own_place = peers.names.front();
  return run_joined_job(options, setup, std::move(parts));
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
    leave_report(log, error_report(error));
    throw;
  }
}

int run_agent(int argc, char** argv) {
  if (argc == 1) return run_guard(STDIN_FILENO, STDOUT_FILENO);
  if (argc == 2 && argv[1] == std::string_view("--join=stdin")) return run_step_agent();
  const Options options = read_words([&] { return parse_agent_args(argc, argv); });
  blank_values(argc, argv);
  if (options.action != Options::Action::run) return print(command_help(kAgentCommand));
  if (const auto code = go_on_below_first_process(hide_join_token)) return *code;
  return run_joined(options);
}

}  // namespace

int run_k8s_job(const Options& options, JobParts parts, TerminationLog& log) {
  const Peers peers = peers_of_launcher(options, this_world());
  say_line(peers.line);
  return run_joined_job(options, joined_setup(options, peers, log), std::move(parts));
}

const Command kAgentCommand{
    .name = "agent",
    .summary = "Run one node of a job whose nodes find each other, as pods do",
    .run = run_agent,
    .synopsis = "--join [options] -- COMMAND ARGS... | train.toml",
    .details = kDetails,
    .options = shown_table<Options, own_agent_table>,
    .all_options = shown_table<Options, agent_table>};

}  // namespace ds::launcher
