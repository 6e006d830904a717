// Parser of the main command and of `dslaunch agent --join`, with checks across options.
#include "launcher/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace ds::launcher {
namespace {

constexpr const char* kForms =
    "dslaunch [options] train.toml [key=value ...]   or   dslaunch [options] -- COMMAND ARGS...";

constexpr std::string_view kAbout = "About dslaunch";
constexpr OptionDef<Options> kAboutOptions[] = {
    {{"--version", "", "Print the version"},
     [](Options& options, const GivenOption&) { options.action = Options::Action::show_version; }},
    {{"--help,-h", "all", "Print this help; --help=all prints every option", false, "common"},
     [](Options& options, const GivenOption& given) {
       options.action = choice_value(given, "common|all") == 0 ? Options::Action::show_help
                                                               : Options::Action::show_full_help;
     }},
};

/// Reads `train.toml key=value ...`. Returns nothing if there are no words.
std::optional<TrainForm> train_form(const std::vector<std::string>& words, bool command_given) {
  if (words.empty()) return std::nullopt;
  const std::string& first = words.front();
  if (!first.ends_with(".toml")) {
    if (command_given)
      usage_error(fmt::format("unexpected '{}' before --", first),
                  "give a hostfile with --hostfile FILE");
    usage_error(fmt::format("'{}' is not a .toml file", first),
                fmt::format("to run a program: dslaunch [options] -- {}{}",
                            first.ends_with(".py") ? "python3 " : "", fmt::join(words, " ")));
  }
  if (command_given)
    usage_error(fmt::format("both {} and a command after -- are given", first), kForms);
  TrainForm form{first, {words.begin() + 1, words.end()}};
  for (const std::string& word : form.overrides) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      usage_error(fmt::format("'{}' after {} is not key=value", word, first),
                  "for example train.steps=20 zero.stage=0");
  }
  return form;
}

/// Refuses several options that read standard input, which can be read only once.
void check_input_readers(const Options& options) {
  std::vector<std::string_view> readers;
  if (options.hosts.hostfile == "-") readers.emplace_back("--hostfile -");
  for (const std::string& file : options.env.files)
    if (file == "-") readers.emplace_back("--env-file -");
  if (options.logs.policy.input.kind != StdinChoice::Kind::none) readers.emplace_back("--stdin");
  if (options.control.detach && !readers.empty() && readers.back() == "--stdin")
    usage_error("--detach and --stdin cannot be combined",
                "a job in the background has no standard input; let a rank read a file");
  if (readers.size() > 1)
    usage_error(fmt::format("{} and {} both read standard input", readers[0], readers[1]),
                "put the hosts or the variables into a file");
}

/// Refuses options that conflict with --part, which starts ranks on this machine only and cannot
/// choose a common MASTER_ADDR.
void check_part(Options& options) {
  const HostOptions& hosts = options.hosts;
  if (!hosts.part) return;
  const auto refuse = [](std::string_view what) {
    usage_error(fmt::format("--part and {} cannot be combined", what),
                "--part starts ranks on this machine only");
  };
  const bool of_hosts = hosts.part->nodes == 0;
  if (!of_hosts && hosts.hostfile) refuse("--hostfile");
  if (!of_hosts && !hosts.selection.picks.empty()) refuse("--host");
  if (!options.more_programs.empty()) refuse("several programs");
  if (options.failure.spares > 0) refuse("--spares");
  if (options.logs.policy.input.kind != StdinChoice::Kind::none) refuse("--stdin");
  TransportChoice& transport = options.reach.transport;
  if (transport != TransportChoice::automatic && transport != TransportChoice::local)
    refuse("--transport");
  transport = TransportChoice::local;
  if (hosts.part->nodes != 1 && (options.master.address.empty() || options.master.port == 0))
    usage_error("--part of several nodes needs --master-addr and --master-port",
                "give every part the address where rank 0 of the first node listens");
}

/// Refuses more than one program without -n: only one can take the remaining slots.
void check_program_sizes(const Options& options) {
  bool by_host = false;  // a later program has --ppn
  int open = 0;
  for (const MoreProgram& program : options.more_programs) {
    open += program.ranks || program.per_host ? 0 : 1;
    by_host = by_host || program.per_host;
  }
  open += options.hosts.ranks || (by_host && options.hosts.ranks_per_host) ? 0 : 1;
  if (open > 1)
    usage_error("several programs have no -n", "only one program can take the remaining slots");
}

/// Refuses options that conflict with a changing number of nodes.
void check_elastic(const Options& options) {
  if (!options.failure.nodes) return;
  const auto refuse = [](std::string_view what, std::string_view hint) {
    usage_error(fmt::format("--nodes and {} cannot be combined", what), std::string(hint));
  };
  const HostOptions& hosts = options.hosts;
  if (hosts.part) refuse("--part", "--part starts ranks on this machine only");
  if (!options.more_programs.empty())
    refuse("several programs", "start each program as a job of its own");
  if (hosts.ranks)
    refuse("-n", "the number of ranks follows from the nodes: give --ppn N for each of them");
  if (hosts.map.in_sequence) refuse("--map-by seq", "its list names a host for each rank");
  const StdinChoice& input = options.logs.policy.input;
  if (input.kind == StdinChoice::Kind::one && input.rank >= options.failure.nodes->least)
    usage_error(fmt::format("--stdin: rank {} is missing when the job has only {} nodes",
                            input.rank, options.failure.nodes->least),
                "give a rank below MIN of --nodes MIN:MAX");
}

/// Takes --nnodes MIN:MAX as --nodes.
void take_range(Options& options) {
  const std::optional<NodeRange>& range = options.pods.nodes;
  if (!range || range->least == range->most) return;
  if (options.failure.nodes)
    usage_error("--nnodes MIN:MAX and --nodes cannot be combined", "both say the same: give one");
  options.failure.nodes = range;
}

/// Returns the action of --help or --version, which override everything else on the line.
Options::Action shortcut(std::span<const char* const> args) {
  for (const std::string_view arg : args) {
    if (arg == "--") break;
    if (arg == "--help" || arg == "-h") return Options::Action::show_help;
    if (arg == "--help=all") return Options::Action::show_full_help;
    if (arg == "--version") return Options::Action::show_version;
  }
  return Options::Action::run;
}

/// Parses all words and checks what a single option cannot check.
void read_job(Options& options, const OptionTable& table, std::span<const char* const> args,
              std::optional<std::chrono::milliseconds> time_left = {}) {
  const auto dashes = std::find(args.begin(), args.end(), std::string_view("--"));
  const bool command_given = dashes != args.end();
  const std::vector<std::string> words = table.read({args.begin(), dashes}, Words::mixed);
  options.train = train_form(words, command_given);
  add_overrides(options.training, options.train);
  finish_failure_options(options.failure, options.train.has_value(), time_left);
  take_range(options);
  finish_elastic_options(options.failure);
  check_host_options(options.hosts);
  check_input_readers(options);
  if (command_given) options.command.assign(dashes + 1, args.end());
  if (!options.hosts.one_program) options.more_programs = take_more_programs(options.command);
  check_program_sizes(options);
  check_part(options);
  check_elastic(options);
  if (command_given && (options.command.empty() || options.command.front().empty()))
    usage_error("no command after --", "for example: dslaunch -n 2 -- hostname");
}

/// Checks the pod options of the main command.
void check_pod_options(const Options& options) {
  const PodOptions& pods = options.pods;
  if (options.reach.transport == TransportChoice::join && options.hosts.dry_run != DryRun::off)
    usage_error("--dry-run and --transport join cannot be combined",
                "the slots of nodes are known only after they have joined");
  const auto needs = [](bool given, std::string_view option, std::string_view what) {
    if (given)
      usage_error(fmt::format("{} needs {}", option, what),
                  "without Kubernetes, give hosts with --hostfile or --host");
  };
  const bool joins = options.reach.transport == TransportChoice::join && pods.k8s;
  const bool may_be_open = options.failure.nodes && !pods.k8s;  // in a Slurm allocation
  if (!joins && !may_be_open) {
    constexpr std::string_view kJoins =
        "--k8s --transport join, or --nodes MIN:MAX in a Slurm allocation";
    needs(pods.job_id.has_value(), "--job-id", kJoins);
    needs(pods.join_port.has_value(), "--join-port", kJoins);
    needs(pods.key_file.has_value(), "--key-file", kJoins);
  }
  if (!pods.k8s) {
    needs(pods.peers.has_value(), "--peers", "--k8s");
    needs(pods.nodes.has_value(), "--nnodes", "--k8s");
    needs(pods.slots != kAutoSlots, "--slots", "--k8s");
    return;
  }
  if (options.hosts.hostfile || !options.hosts.selection.picks.empty())
    usage_error(fmt::format("--k8s and {} cannot be combined",
                            options.hosts.hostfile ? "--hostfile" : "--host"),
                "give only one of them");
}

constexpr std::string_view kNotOfAgents[] = {
    "--k8s",       "--part",       "--hostfile",    "--host",  "--include",    "--exclude",
    "--num-nodes", "--dry-run",    "--transport",   "--push",  "--agent-path", "--connect-timeout",
    "--window",    "--ssh-config", "--known-hosts", "--detach"};

bool is_of_agents(const OptionTable::Entry& entry) {
  return std::ranges::count(kNotOfAgents, split_names(entry.shape.names).front()) == 0;
}

/// Refuses options of `dslaunch` that a joining agent does not have, with the reason.
void check_agent_words(std::span<const char* const> args) {
  Options unused;
  const OptionTable all = option_table(unused);
  for (const std::string_view arg : args) {
    if (arg == "--") return;
    const std::string_view typed = arg.substr(0, arg.find('='));
    for (const OptionTable::Entry& entry : all.entries())
      if (!is_of_agents(entry) && std::ranges::count(split_names(entry.shape.names), typed) > 0)
        usage_error(fmt::format("{} cannot be used with dslaunch agent --join", typed),
                    "nodes that dial in come from --peers or from Kubernetes");
  }
}

void check_agent_options(const Options& options) {
  const PodOptions& pods = options.pods;
  const bool runs = !options.command.empty() || options.train;
  if (!pods.join)
    usage_error("dslaunch agent accepts options only with --join",
                "without options only dslaunch itself starts it, on nodes");
  if (pods.root && runs && (pods.peers || !options.failure.nodes))
    usage_error(pods.peers ? "--root, --peers and a command cannot be combined"
                           : "--root and a command cannot be combined without --nodes MIN:MAX",
                "the root has the command; its node is found by --root and --nodes, or by --peers");
  if (pods.root && runs && options.failure.nodes->most == 0)
    usage_error("--nodes MIN: needs a MAX with --root", "give the largest number of nodes");
  if (pods.node_name && (!pods.root || pods.peers))
    usage_error("--node-name needs --root, without --peers", "--peers has the names of all nodes");
  if (!pods.root && !runs)
    usage_error("nothing to run", "dslaunch agent --join [options] -- COMMAND; or --root HOST");
  if (pods.nodes && pods.node_rank && *pods.node_rank >= pods.nodes->most)
    usage_error(fmt::format("--node-rank {} is out of range for --nnodes {}", *pods.node_rank,
                            pods.nodes->most),
                "node ranks start at 0");
}

}  // namespace

OptionTable option_table(Options& options) {
  OptionTable table;
  table.add("Where", host_options(), options.hosts);
  table.add("Pods and joining nodes", pod_options(), options.pods);
  table.add("What each rank gets", env_options(), options.env);
  table.add("Of a training", train_options(), options.training);
  table.add("How it ends", failure_options(), options.failure);
  table.add("Output", log_options(), options.logs);
  table.add("Reaching the nodes", reach_options(), options.reach);
  table.add("Where the ranks meet", master_options(), options.master);
  table.add("In the background", control_options(), options.control);
  table.add(kAbout, kAboutOptions, options);
  return table;
}

OptionTable own_agent_table(Options& options) {
  OptionTable table;
  table.add("Joining", joining_options(), options.pods);
  return table;
}

OptionTable agent_table(Options& options) {
  OptionTable table = own_agent_table(options);
  const OptionTable all = option_table(options);
  for (const OptionTable::Entry& entry : all.entries()) {
    const bool is_about = entry.section == kAbout;
    if (!is_about && is_of_agents(entry)) table.add(entry);
  }
  return table;
}

Options parse_args(int argc, const char* const* argv,
                   std::optional<std::chrono::milliseconds> time_left) {
  const std::span<const char* const> args(argv + std::min(argc, 1), argv + argc);
  Options options;
  options.action = shortcut(args);
  if (options.action != Options::Action::run) return options;
  read_job(options, option_table(options), args, time_left);
  check_pod_options(options);
  if (options.command.empty() && !options.train) usage_error("nothing to run", kForms);
  return options;
}

void let_nodes_change(Options& options, NodeRange range) {
  options.failure.nodes = range;
  finish_elastic_options(options.failure);
  check_elastic(options);
}

Options parse_agent_args(int argc, const char* const* argv) {
  const std::span<const char* const> args(argv + std::min(argc, 1), argv + argc);
  Options options;
  options.action = shortcut(args);
  if (options.action != Options::Action::run) return options;
  check_agent_words(args);
  read_job(options, agent_table(options), args);
  check_agent_options(options);
  return options;
}

}  // namespace ds::launcher
