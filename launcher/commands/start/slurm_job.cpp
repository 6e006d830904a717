// Inside Slurm: a job whose agents are started by a step of srun, and a rank of a step, which sets
// its own environment and executes the program without an agent.
#include "launcher/commands/start/slurm_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/whole_number.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/start/joined_job.h"
#include "launcher/job/rank_environment.h"
#include "launcher/slurm/agent_steps.h"
#include "launcher/slurm/step_words.h"

namespace ds::launcher {
namespace {

/// Time that agents dial a lost root. It is short because such a root does not come back, and the
/// nodes become free.
constexpr std::chrono::milliseconds kAgentsWait{60'000};
/// Time between Slurm's signal to the first node of a step and its signal to the last.
constexpr std::chrono::milliseconds kSlurmTellsAll{1'000};

/// Returns all addresses of this machine. The agents already know the one that Slurm uses.
std::vector<RootAddress> root_addresses(std::uint16_t port) {
  std::vector<RootAddress> roots;
  const Hello here = describe_node();
  for (const NodeAddress& own : here.addresses)
    if (!own.address.starts_with("127.") && own.address != "::1" &&
        !own.address.starts_with("fe80:"))
      roots.push_back({own.address, port});
  roots.push_back({here.hostname, port});
  return roots;
}

/// Unsets variables of the job that srun would read as options of the step.
void forget_step_options(const EnvList& own) {
  for (const auto& variable : own)
    if (is_step_option(variable.first)) ::unsetenv(variable.first.c_str());
}

void check_slots(const std::vector<Host>& hosts, const HostSelection& selection) {
  const bool by_slot =
      selection.num_gpus || !selection.include.empty() || !selection.exclude.empty();
  for (const Host& host : hosts)
    if (host.slots == kAutoSlots && by_slot)
      usage_error(fmt::format("cannot choose slots of {}: the number of its GPUs is not known here",
                              host.name),
                  "request them from Slurm per node: --gpus-per-node");
}

/// Returns the option that a rank of srun cannot honor, or null.
const char* launchers_option(const Options& options, const SlurmRank& place) {
  const HostOptions& hosts = options.hosts;
  const FailureOptions& failure = options.failure;
  if (hosts.hostfile) return "--hostfile";
  if (!hosts.selection.picks.empty()) return "--host";
  if (!hosts.selection.include.empty()) return "--include";
  if (!hosts.selection.exclude.empty()) return "--exclude";
  if (hosts.selection.num_nodes) return "--num-nodes";
  if (hosts.selection.num_gpus) return "--num-gpus";
  if (hosts.ranks && *hosts.ranks != place.world_size) return "-n";
  if (hosts.ranks_per_host && *hosts.ranks_per_host != place.local_world_size) return "--ppn";
  if (hosts.devices == DeviceView::own) return "--devices own";
  if (hosts.map.binds()) return "--bind";
  if (hosts.report_bindings) return "--report-bindings";
  if (!options.more_programs.empty()) return "a second program after ':'";
  if (options.reach.transport != TransportChoice::automatic) return "--transport";
  if (failure.timeout) return "--timeout";
  if (failure.pre_signal) return "--pre-signal";
  if (failure.max_restarts > 0) return "--max-restarts";
  if (failure.spares > 0) return "--spares";
  if (failure.nodes) return "--nodes";
  if (failure.verdict) return "--verdict";
  if (!options.logs.policy.folder.empty()) return "--log-dir";
  if (options.logs.policy.fold) return "--fold";
  if (options.logs.policy.input.kind != StdinChoice::Kind::none) return "--stdin";
  if (options.control.detach) return "--detach";
  return nullptr;
}

EnvList place_variables(const SlurmRank& place) {
  const std::string locals = std::to_string(place.local_world_size);
  const std::string node = std::to_string(place.node_rank);
  const std::string nodes = std::to_string(place.nodes);
  const std::string rank = std::to_string(place.rank);
  const std::string ranks = std::to_string(place.world_size);
  return {{contract::kRank, rank},
          {contract::kLocalRank, std::to_string(place.local_rank)},
          {contract::kWorldSize, ranks},
          {contract::kLocalWorldSize, locals},
          {contract::kNodeRank, node},
          {contract::kGroupRank, node},
          {contract::kGroupWorldSize, nodes},
          {contract::kCrossRank, node},
          {contract::kCrossSize, nodes},
          {contract::kLocalSize, locals},
          {contract::kRoleRank, rank},
          {contract::kRoleWorldSize, ranks},
          {contract::kRunId, "slurm-" + place.job},
          {contract::kUseAgentStore, "False"},
          {contract::kRestartCount, "0"},
          {contract::kMaxRestarts, "0"},
          {contract::kJobId, "slurm-" + place.job},
          {contract::kEpoch, std::to_string(slurm_epoch(place.restarts))},
          {contract::kLiveProgress, "0"}};
}

int threads(const SlurmRank& place) {
  const Hello node = describe_node();
  NodeFacts facts;
  facts.cores = node.cores;
  facts.quota_milli = node.quota_milli;
  return threads_per_rank(facts, place.local_world_size);
}

void set(const std::string& name, const std::string& value) {
  ::setenv(name.c_str(), value.c_str(), 1);
}

void set_default(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); }

/// Turns the environment of this process into the rank's.
void take_environment(const Options& options, const SlurmRank& place,
                      const JobEnvironment& environment) {
  if (environment.here) {
    ::clearenv();
    for (const auto& [name, value] : *environment.here) set(name, value);
  }
  for (const auto& [name, value] : environment.given) set(name, value);
  set_default(contract::kMasterAddr, place.master_addr);
  set_default(contract::kMasterPort, std::to_string(place.master_port));
  set_default(contract::kOmpNumThreads, std::to_string(threads(place)));
  set_default(contract::kAsyncErrorHandling, "1");
  for (const auto& [name, value] : place_variables(place)) set(name, value);
  set(contract::kRoleName, options.hosts.role);
}

/// Slurm does not tell a job whether its allocation survives the loss of a node, but the variables
/// of salloc and sbatch that ask for it are inherited.
void advise(const Allocation& allocation) {
  for (const char* name : {"SALLOC_NO_KILL", "SBATCH_NO_KILL"})
    if (const auto value = own_variable(name); value && *value != "off" && *value != "no") return;
  say_line(
      fmt::format("when Slurm notices that a node is lost, it ends the whole job {} unless its "
                  "allocation was made with --no-kill",
                  allocation.job));
}

/// Lets nodes of other allocations join, which prove the key of the options.
void open_job(JoinedJobSetup& setup, const Options& options, int slots) {
  setup.open = OpenJob{.slots = slots};
  setup.key = key_of_job(options.pods);
  setup.port = options.pods.join_port.value_or(kJoinPort);
  if (options.pods.job_id) setup.job = *options.pods.job_id;
}

}  // namespace

std::optional<std::chrono::milliseconds> slurm_time_left() {
  const auto text = own_variable("SLURM_JOB_END_TIME");
  if (!text || own_variable(contract::kJobId)) return std::nullopt;
  const auto end = whole_number<std::int64_t>(*text);
  if (!end) return std::nullopt;
  const std::chrono::system_clock::time_point at{std::chrono::seconds(*end)};
  return std::chrono::duration_cast<std::chrono::milliseconds>(at -
                                                               std::chrono::system_clock::now());
}

bool opens_job(const PodOptions& pods) { return pods.key_file || pods.join_port || pods.job_id; }

int run_slurm_job(const Options& options, const Allocation& allocation, std::vector<Host> hosts,
                  JobParts parts) {
  check_slots(hosts, options.hosts.selection);
  const std::optional<NodeRange>& nodes = options.failure.nodes;
  auto commands = agent_steps(allocation, hosts,
                              {.agent = options.reach.agent_path.value_or(own_path()),
                               .with_environment = options.env.policy != EnvPolicy::none,
                               .by_node = nodes.has_value()});
  forget_step_options(own_variables());
  if (nodes) advise(allocation);
  std::optional<AgentSteps> steps;
  JoinServer* root = nullptr;
  JoinedJobSetup setup;
  setup.key = JoinKey::random();
  setup.job = fmt::format("slurm-{}-{}", allocation.job, JoinKey::random().hex().substr(0, 8));
  if (opens_job(options.pods)) open_job(setup, options, hosts.front().slots);
  setup.places = std::move(hosts);
  setup.wait = options.pods.wait;
  setup.first_epoch = slurm_epoch(allocation.restarts);
  setup.on_listening = [&](JoinServer& server, asio::io_context& io) {
    root = &server;
    JoinerSetup join;
    join.key = setup.key;
    join.job = setup.job;
    join.roots = root_addresses(server.port());
    join.wait = kAgentsWait;
    join.silence = options.failure.node_timeout;
    steps.emplace(io, commands, join_lines(join), say_line);
    if (setup.open) say_line("other nodes join by: " + guest_command(join.roots.front()));
  };
  setup.stage_of = [](const std::string&) { return std::string("srun has not started it yet"); };
  setup.decide_after = kSlurmTellsAll;
  setup.given_up = [&] {
    const bool enough = nodes && steps->running() >= nodes->least;
    return enough ? std::nullopt : steps->ended();
  };
  if (nodes) {
    setup.is_out = [&](const std::string& place) { return steps->has_ended(place); };
    setup.on_gathered = [&] {
      steps->renew([root](const std::string& place) { return root->awaits(place); });
    };
  }
  setup.still_ending = [&] { return steps->running() > 0; };
  // Must run before the io_context is destroyed, on which the steps live.
  setup.on_end = [&] { steps.reset(); };
  return run_joined_job(options, setup, std::move(parts));
}

std::optional<SlurmRank> own_step_place() {
  if (std::getenv(contract::kJobId) != nullptr) return std::nullopt;
  return find_slurm_rank([](const char* name) { return std::getenv(name); });
}

int exec_step_rank(const Options& options, const SlurmRank& place) {
  if (const char* option = launchers_option(options, place))
    usage_error(fmt::format("{} is not available: srun started this process as one of {} ranks",
                            option, place.world_size),
                "without srun, dslaunch itself starts the ranks on the nodes of the allocation");
  const JobParts parts = job_parts(options);
  const Program& program = parts.programs.front();
  take_environment(options, place, parts.environment);
  if (options.env.wdir && ::chdir(program.working_directory.c_str()) != 0)
    throw Error(ErrorKind::config,
                fmt::format("cannot enter the working directory '{}': {}",
                            program.working_directory, std::generic_category().message(errno)),
                "create it on every node or choose another with --wdir");
  std::vector<std::string> words = program.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  const int error = errno;
  fmt::print(stderr, "dslaunch: cannot run {}: {}\n", words.front(),
             std::generic_category().message(error));
  return error == ENOENT ? contract::kExitNotFound : contract::kExitNotExecutable;
}

}  // namespace ds::launcher
