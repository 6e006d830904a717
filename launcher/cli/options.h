// Command line of `dslaunch` as a value: one struct for each section of the help, one table each.
// Pure: reads no files, resolves no names, prints nothing.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/cli/rank_map.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/hosts/network.h"
#include "launcher/job/job_policy.h"
#include "launcher/job/rank_environment.h"
#include "launcher/logs/log_policy.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

enum class DryRun { off, table, json, env };
enum class Oversubscribe { off, spread, rounds };
enum class DeviceView { node, own };  // CUDA_VISIBLE_DEVICES: the node's chosen slots, or one slot

/// Value of --part: one node of a job whose nodes are started separately.
struct PartRequest {
  int node_rank = 0;
  int nodes = 1;         // 0: the number of hosts
  std::string run_id{};  // empty if not given
  friend bool operator==(const PartRequest&, const PartRequest&) = default;
};

/// Where the ranks run and how many there are.
struct HostOptions {
  std::optional<std::string> hostfile;  // "-" is standard input
  HostSelection selection;              // --host, --include, --exclude, --num-nodes, --num-gpus
  std::optional<int> ranks;             // -n of the first program
  bool all_slots = false;               // -n all; without hosts: every GPU or core here
  std::string role = "default";         // of the first program
  std::optional<int> ranks_per_host;    // --ppn
  RankMap map{};                        // --map-by, --rank-by, --bind
  Oversubscribe oversubscribe = Oversubscribe::off;
  DeviceView devices = DeviceView::node;
  bool report_bindings = false;
  bool display_map = false;
  bool no_local = false;  // --no-local
  std::optional<PartRequest> part{};
  bool one_program = false;  // ':' is always an argument
  bool separate = false;     // -x, --wdir and --host of the first program are its own
  DryRun dry_run = DryRun::off;
};

/// Errors:  Error{usage} for options that cannot be combined.
void check_host_options(const HostOptions& options);

/// Parses a role name: letters, digits, '.', '-', '_'.
std::string role_value(const GivenOption& given);
inline constexpr int kMaxRanks = 1 << 20;

/// Default port of a root.
inline constexpr std::uint16_t kJoinPort = 29400;

/// Value of --root. Port 0 stands for the port of --join-port.
struct RootWord {
  std::string host{};
  std::uint16_t port = 0;
  friend bool operator==(const RootWord&, const RootWord&) = default;
};

enum class AfterSuccess { exit, idle };

/// Pods and joining nodes, which find each other.
struct PodOptions {
  bool k8s = false;
  std::optional<std::string> peers;   // names of the nodes, as typed
  std::optional<NodeRange> nodes;     // --nnodes
  int slots = kAutoSlots;             // ranks on every node
  std::optional<std::string> job_id;  // common name of the job on all nodes
  std::optional<std::uint16_t> join_port;
  std::optional<std::string> key_file;
  std::chrono::milliseconds wait{600'000};  // maximum wait for all nodes or for the root
  std::optional<std::string> termination_log;
  // Options of `dslaunch agent --join` only.
  bool join = false;
  std::optional<int> node_rank;
  std::optional<RootWord> root;
  std::optional<std::string> node_name;  // of this node, if no peers are named
  AfterSuccess on_success = AfterSuccess::exit;
};

/// Parses `host`, `host:29401`, `[2001:db8::1]:29401` or `2001:db8::1`.
/// Errors:  Error{usage} naming the option.
RootWord root_value(const GivenOption& given);

/// Forwarded variable: `-x NAME=value`; without a value (`-x NAME`, `-x 'PREFIX*'`) the launcher's
/// own environment has the value.
struct EnvForward {
  std::string name;
  std::optional<std::string> value;
  friend bool operator==(const EnvForward&, const EnvForward&) = default;
};

/// Value of --env: which of the launcher's own variables go to ranks on other nodes.
enum class EnvPolicy {
  allow,  // variables that configure such jobs
  all,    // all but those that describe this machine, this session or another launcher's job
  none    // nothing; local ranks then get only what a login would set
};

/// Value of --mpi: what the MPI libraries of the ranks are offered. The enumerators have the order
/// of the option's words.
enum class MpiChoice {
  automatic,  // as the library needs it that the program is linked with
  pmi1,       // the PMI descriptor, on which the rank chooses the version
  pmi2,       // the same
  pmix,
  any,  // both descriptor and PMIx, as far as the nodes can
  none
};

/// Environment and working directory of the ranks.
struct EnvOptions {
  std::optional<std::string> wdir;
  std::vector<EnvForward> forward;  // in the order of the command line, each name once
  std::vector<std::string> files;   // --env-file
  EnvPolicy policy = EnvPolicy::allow;
  RankFamilies families;
  MpiChoice mpi = MpiChoice::automatic;
  std::vector<std::string> redact;  // shell patterns of names
};

/// A training: where it continues. Each option sets one key of train.toml.
struct TrainOptions {
  std::optional<std::string> resume{};  // auto, never or a path
  std::optional<std::string> load{};    // all or weights
};

/// Train form: `dslaunch train.toml key=value ...`. The path is as typed.
struct TrainForm {
  std::string config;
  std::vector<std::string> overrides;
};

/// Appends the options as `key=value` words to the overrides of `train`.
/// Errors:  Error{usage} if both an option and its key are given, or if the job runs a command.
void add_overrides(const TrainOptions& options, std::optional<TrainForm>& train);

/// Value of --isolate. The enumerators have the order of the option's words.
enum class IsolateMode { automatic, pid, none };

/// Deadlines, signals, restarts, spares and the verdict.
struct FailureOptions : JobPolicy {
  FailureOptions() { forwarded_signals = {SIGUSR1, SIGUSR2}; }
  bool grace_given = false;
  // Of --nodes; JobPolicy::elastic is set from them.
  std::optional<NodeRange> nodes{};
  std::optional<OnLoss> on_loss{};
  std::optional<Admit> admit{};
  std::optional<std::chrono::milliseconds> max_wait{};
  bool restarts_given = false;
  int spares = 0;
  std::optional<std::string> verdict{};
  IsolateMode isolate = IsolateMode::automatic;
};

/// Parses MIN:MAX, or N for N:N.   Errors:  Error{usage} naming the option.
NodeRange node_range_value(const GivenOption& given);

/// Sets `elastic` and its defaults from the options of a job whose number of nodes may change.
/// Errors:  Error{usage} for options that need --nodes.
void finish_elastic_options(FailureOptions& options);

/// Sets the defaults that depend on the job: the grace of a training, and the deadline of
/// --pre-signal without --timeout, which is the end of the allocation that this process is in
/// (`time_left` from now), less --grace.
/// Errors:  Error{usage} for options that cannot be combined.
void finish_failure_options(FailureOptions& options, bool trains,
                            std::optional<std::chrono::milliseconds> time_left);

enum class LogLevel { error, warn, info, debug };

/// Options for output: what is shown, in which form, and what is kept.
struct LogOptions {
  LogLevel log_level = LogLevel::info;
  LogPolicy policy;  // its folder is as typed
};

enum class TransportChoice { automatic, ssh, local, slurm, exec, join };

/// How dslaunch reaches the nodes.
struct ReachOptions {
  TransportChoice transport = TransportChoice::automatic;
  std::vector<std::string> exec_words;    // for TransportChoice::exec; see exec_template.h
  std::optional<std::string> agent_path;  // path of dslaunch on the nodes
  bool push = true;                       // copy dslaunch to nodes that lack it, by ssh only;
                                          // ignored with agent_path
  std::chrono::milliseconds connect_timeout{10'000};
  int window = 64;                        // connections opened at once
  std::optional<std::string> ssh_config;  // replaces ~/.ssh/config
  std::vector<std::string> known_hosts;   // replaces the files of the ssh configuration
};

/// A job in the background.
struct ControlOptions {
  std::optional<std::string> detach;  // output file; %j stands for the job's id
};

/// Program after a ':' (`-n 2 -- ./a x : -n 4 -- ./b`), with the options before its `--`.
struct MoreProgram {
  std::optional<int> ranks;       // -n; empty: the remaining slots
  std::string role = "default";   // --role
  std::vector<HostPick> hosts{};  // --host: use only these hosts
  std::optional<int> per_host{};  // --ppn
  EnvOptions env{};               // -x and --wdir, which override those of the job
  std::vector<std::string> command{};
};

/// Removes the programs after the first ':' from the words after the first `--`, and returns them.
/// The first command stays in `words`. A ':' starts another program if an option or `--` follows
/// it; any other ':' is an argument.
/// Errors:  Error{usage}.
std::vector<MoreProgram> take_more_programs(std::vector<std::string>& words);

// The tables, one for each section of the help.

std::span<const OptionDef<HostOptions>> host_options();
/// Returns --host, --include, --exclude, --num-nodes and --num-gpus.
std::span<const OptionDef<HostOptions>> selection_options();
std::span<const OptionDef<PodOptions>> pod_options();
/// Returns the options of `dslaunch agent --join` that the main command does not have.
std::span<const OptionDef<PodOptions>> joining_options();
std::span<const OptionDef<EnvOptions>> env_options();
std::span<const OptionDef<TrainOptions>> train_options();
std::span<const OptionDef<FailureOptions>> failure_options();
std::span<const OptionDef<LogOptions>> log_options();
std::span<const OptionDef<ReachOptions>> reach_options();
std::span<const OptionDef<MasterRequest>> master_options();
std::span<const OptionDef<ControlOptions>> control_options();

struct Options {
  enum class Action { run, show_help, show_full_help, show_version };
  Action action = Action::run;

  HostOptions hosts;
  EnvOptions env;
  FailureOptions failure;
  LogOptions logs;
  ReachOptions reach;
  MasterRequest master;
  PodOptions pods;
  ControlOptions control;
  TrainOptions training;  // already added to the overrides of `train`

  // Exactly one of `train` and `command` is set if action is run.
  std::optional<TrainForm> train;
  std::vector<std::string> command;
  std::vector<MoreProgram> more_programs;  // programs after ` : `; the first one is `command`
};

/// Parses the command line; skips `argv[0]`.
/// `time_left`: time until the end of the allocation that this process is in. It sets the deadline
/// of --pre-signal if --timeout does not, less the time that ranks get to stop.
/// Errors:  Error{usage} naming the wrong word, with a hint.
Options parse_args(int argc, const char* const* argv,
                   std::optional<std::chrono::milliseconds> time_left = {});

/// Returns the table of every option of the main command. `options` must outlive the table.
OptionTable option_table(Options& options);

/// Lets the number of nodes change, as --nodes does.   Errors:  Error{usage} for other options that
/// do not allow it.
void let_nodes_change(Options& options, NodeRange range);

/// Parses the command line of `dslaunch agent --join`, where argv[0] is `agent`. It has the options
/// of a job, except those that choose hosts or transports. With --root there is no command.
Options parse_agent_args(int argc, const char* const* argv);
OptionTable agent_table(Options& options);
/// Returns the options of `dslaunch agent --join` that the main command does not have.
OptionTable own_agent_table(Options& options);

}  // namespace ds::launcher
