// Job in a Slurm allocation: a joined job whose agents are started by a step of srun.
#include "launcher/commands/start/slurm_job.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "engine/base/contract.h"
#include "engine/base/slurm_rank.h"
#include "engine/base/whole_number.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_values.h"
#include "launcher/commands/start/joined_job.h"
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

int run_slurm_job(const Options& options, const Allocation& allocation, std::vector<Host> hosts,
                  JobParts parts) {
  check_slots(hosts, options.hosts.selection);
  const bool inherit = options.env.policy != EnvPolicy::none;
  auto commands =
      agent_steps(allocation, hosts, options.reach.agent_path.value_or(own_path()), inherit);
  forget_step_options(own_variables());
  std::optional<AgentSteps> steps;
  JoinedJobSetup setup;
  setup.key = JoinKey::random();
  setup.job = fmt::format("slurm-{}-{}", allocation.job, JoinKey::random().hex().substr(0, 8));
  setup.places = std::move(hosts);
  setup.wait = options.pods.wait;
  setup.first_epoch = slurm_epoch(allocation.restarts);
  setup.on_listening = [&](JoinServer& server, asio::io_context& io) {
    const StepJoin join{.key = setup.key,
                        .job = setup.job,
                        .roots = root_addresses(server.port()),
                        .wait = kAgentsWait,
                        .silence = options.failure.node_timeout};
    steps.emplace(io, commands, join_lines(join), say_line);
  };
  setup.stage_of = [](const std::string&) { return std::string("srun has not started it yet"); };
  setup.decide_after = kSlurmTellsAll;
  setup.given_up = [&] { return steps->ended(); };
  setup.still_ending = [&] { return steps->running() > 0; };
  // Must run before the io_context is destroyed, on which the steps live.
  setup.on_end = [&] { steps.reset(); };
  return run_joined_job(options, setup, std::move(parts));
}

}  // namespace ds::launcher
