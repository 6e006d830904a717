// Names of pods, one function per substrate.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "launcher/slurm/node_list.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

/// Returns the first variable that is set; manifests use different names for the same field.
template <std::size_t N>
std::optional<std::string> any_variable(const World& world,
                                        const std::array<const char*, N>& names) {
  for (const char* name : names)
    if (auto value = world.variable(name)) return value;
  return std::nullopt;
}

template <std::size_t N>
std::optional<NumberClue> any_number(const World& world, const std::array<const char*, N>& names) {
  for (const char* name : names)
    if (auto value = number_variable(world, name)) return value;
  return std::nullopt;
}

void set_nodes(Naming& naming, const std::optional<NumberClue>& count, bool fixed) {
  if (!count) return;
  if (count->value < 1)
    throw Error(ErrorKind::config,
                fmt::format("{}={}: a job must have at least 1 node", count->source, count->value));
  naming.nodes = NodeCount{count->value, count->value};
  naming.nodes_source = count->source;
  naming.nodes_fixed = fixed;
}

/// Derives names from that of index 0. If it ends in a number, as pod names do, the others count
/// on.
void name_after_root(Naming& naming, const std::string& root) {
  constexpr std::string_view kMasterEnd = "-master-";  // PyTorchJob: the other pods are workers
  const std::string_view label = first_label(root);
  const std::string rest = root.substr(label.size());
  const std::optional<Numbered> parts = split_number(label);
  const bool counts_on =
      !is_address(root) && parts && parts->number == 0 && !parts->start.ends_with(kMasterEnd);
  naming.first = root;
  naming.group = label;
  if (counts_on) {
    naming.start = parts->start;
    naming.end = rest;
    naming.group = parts->start.substr(0, parts->start.size() - 1);
    return;
  }
  naming.start = "peer";  // only the name of index 0 is ever resolved
}

std::optional<Naming> name_lws(const World& world) {
  const auto leader = world.variable("LWS_LEADER_ADDRESS");
  if (!leader) return std::nullopt;
  Naming naming{.substrate = "LeaderWorkerSet", .group = std::string(first_label(*leader))};
  naming.first = *leader;
  naming.start = "peer";
  if (!is_address(*leader)) {
    naming.start = naming.group + "-";
    naming.end = leader->substr(naming.group.size());
  }
  set_nodes(naming, number_variable(world, "LWS_GROUP_SIZE"), true);
  return naming;
}

/// Reads torchrun's variables, as Kubeflow Trainer's torch runtime sets them.
std::optional<Naming> name_torch(const World& world, const PeerRequest& request) {
  const auto root = world.variable("PET_MASTER_ADDR");
  if (!root) return std::nullopt;
  Naming naming{.substrate = "torch runtime", .group = {}};
  name_after_root(naming, *root);
  if (const auto count = world.variable("PET_NNODES"); count && !request.nodes) {
    naming.nodes = node_count_variable("PET_NNODES", *count);
    naming.nodes_source = "PET_NNODES";
  }
  if (const auto port = number_variable(world, "PET_MASTER_PORT")) {
    if (port->value < 1 || port->value > 65535)
      throw Error(ErrorKind::config, fmt::format("PET_MASTER_PORT={} is not a port", port->value));
    naming.port = static_cast<std::uint16_t>(port->value);
  }
  return naming;
}

std::optional<Naming> name_volcano(const World& world) {
  if (!world.variable("VC_TASK_INDEX") && !world.variable("VK_TASK_INDEX")) return std::nullopt;
  const std::vector<VolcanoTask> tasks = volcano_tasks(world);
  const std::size_t own = own_task(world, tasks);
  if (own == std::string::npos) return std::nullopt;
  Naming naming{.substrate = "Volcano task", .group = tasks[own].name};
  naming.names = tasks[own].hosts;
  const int count = static_cast<int>(naming.names.size());
  set_nodes(naming, NumberClue{count, tasks[own].source}, true);
  return naming;
}

/// Reads the nodes of an srun step with one agent per node (`srun --ntasks-per-node=1`).
std::optional<Naming> name_slurm(const World& world) {
  if (!world.variable("SLURM_JOB_ID") || !world.variable("SLURM_NODEID")) return std::nullopt;
  const bool step = world.variable("SLURM_STEP_NODELIST").has_value();
  const char* source = step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  auto expanded = expand_node_list(world.variable(source).value_or(""));
  if (const auto* problem = std::get_if<RangeProblem>(&expanded))
    throw Error(ErrorKind::config, fmt::format("{}: {}", source, problem->message), problem->hint);
  Naming naming{.substrate = "Slurm job", .group = *world.variable("SLURM_JOB_ID")};
  naming.names = std::get<std::vector<std::string>>(std::move(expanded));
  if (naming.names.empty())
    throw Error(ErrorKind::config, fmt::format("{} contains no nodes", source),
                "name them with --peers 'n[1-4]'");
  set_nodes(naming, NumberClue{static_cast<int>(naming.names.size()), source}, true);
  return naming;
}

/// Handles several Jobs of one JobSet in one dslaunch job; the pod's name does not contain their
/// number.
void add_jobs(const World& world, Naming& naming, const std::string& start) {
  const std::optional<Numbered> job = split_number(start.substr(0, start.size() - 1));
  const auto jobs =
      any_number(world, std::array{"JOBSET_REPLICAS", "JOBSET_REPLICATEDJOB_REPLICAS"});
  if (!job || !jobs || jobs->value <= 1) return;
  if (job->number >= jobs->value)
    throw Error(ErrorKind::config,
                fmt::format("this pod belongs to job {} of its JobSet, but {} is {}", job->number,
                            jobs->source, jobs->value));
  naming.start = job->start;
  naming.group = job->start.substr(0, job->start.size() - 1);
  naming.jobs = jobs->value;
  naming.job = job->number;
  if (const auto pods = number_variable(world, "JOBSET_JOB_COMPLETIONS"))
    set_nodes(naming, NumberClue{pods->value * jobs->value, pods->source}, true);
}

/// Reads the name of a pod that ends in its index and has a subdomain.
std::optional<Naming> name_pods(const World& world, const std::optional<PodName>& pod) {
  if (!pod) return std::nullopt;
  const std::optional<Numbered> own = split_number(pod->host);
  if (!own) return std::nullopt;
  Naming naming{.substrate = "StatefulSet",
                .group = own->start.substr(0, own->start.size() - 1),
                .start = own->start,
                .end = "." + pod->subdomain};
  const std::optional<NumberClue> index = number_variable(world, "JOB_COMPLETION_INDEX");
  if (!index) return naming;
  if (index->value != own->number)
    throw Error(
        ErrorKind::config,
        fmt::format("JOB_COMPLETION_INDEX is {}, but the pod's name {} ends in {}", index->value,
                    pod->host, own->number),
        "name the peers with --peers 'NAME-{0..3}.SUBDOMAIN' and this node with --node-rank");
  const std::optional<Numbered> job = split_number(naming.group);
  const auto set = any_variable(world, std::array{"JOBSET_NAME"});
  const bool looks_so = job && naming.group.starts_with(pod->subdomain + "-");
  naming.substrate = set || looks_so ? "JobSet" : "Indexed Job";
  if (naming.substrate == "JobSet") add_jobs(world, naming, own->start);
  return naming;
}

[[noreturn]] void fail_naming(const World& world, const std::optional<PodName>& pod) {
  constexpr const char* kPeers =
      "name them with --peers 'NAME-{0..3}.SUBDOMAIN'; it needs a headless Service of that name";
  if (pod)
    throw Error(
        ErrorKind::config,
        fmt::format("cannot find the peers: the name of this pod, {}, does not end in a number",
                    pod->host),
        kPeers);
  if (is_pod(world))
    throw Error(
        ErrorKind::config,
        fmt::format("cannot find the peers: /etc/hosts has no {}.SUBDOMAIN.NAMESPACE.svc...: "
                    "this pod has no subdomain or uses its node's network",
                    first_label(world.hostname)),
        "set subdomain in the pod template and create a headless Service of that name "
        "(JobSet and StatefulSet do), or name them with --peers 'NAME-{0..3}.SUBDOMAIN'");
  throw Error(ErrorKind::config,
              "cannot find the peers: LWS_LEADER_ADDRESS, PET_MASTER_ADDR, VC_TASK_INDEX, a pod's "
              "name in /etc/hosts and MASTER_ADDR are all missing",
              kPeers);
}

}  // namespace

Naming find_naming(const World& world, const PeerRequest& request,
                   const std::optional<PodName>& pod) {
  if (request.peers) {
    Naming naming{.substrate = "--peers", .group = {}};
    naming.names = expand_peers("--peers", *request.peers);
    const int count = static_cast<int>(naming.names.size());
    set_nodes(naming, NumberClue{count, "--peers"}, true);
    return naming;
  }
  if (request.root) {
    Naming naming{.substrate = "root", .group = {}};
    name_after_root(naming, *request.root);
    return naming;
  }
  if (auto naming = name_lws(world)) return *naming;
  if (auto naming = name_torch(world, request)) return *naming;
  if (auto naming = name_volcano(world)) return *naming;
  if (auto naming = name_slurm(world)) return *naming;
  if (auto naming = name_pods(world, pod)) return *naming;
  if (const auto root = world.variable("MASTER_ADDR")) {
    Naming naming{.substrate = "MASTER_ADDR", .group = {}};
    name_after_root(naming, *root);
    return naming;
  }
  fail_naming(world, pod);
}

}  // namespace ds::launcher
