// Names of pods, one function per substrate.
#include <fmt/format.h>

#include "engine/base/error.h"
#include "launcher/slurm/node_list.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

void set_nodes(Naming& naming, const std::optional<NumberClue>& count) {
  if (!count) return;
  if (count->value < 1)
    throw Error(ErrorKind::config,
                fmt::format("{}={}: a job must have at least 1 node", count->source, count->value));
  naming.nodes = NodeCount{count->value, count->value};
  naming.nodes_source = count->source;
  naming.nodes_fixed = true;
}

Naming name_list(std::string substrate, std::string group, std::vector<std::string> names,
                 const std::string& source) {
  Naming naming{.substrate = std::move(substrate), .group = std::move(group)};
  naming.names = std::move(names);
  set_nodes(naming, NumberClue{static_cast<int>(naming.names.size()), source});
  return naming;
}

/// Derives names from that of index 0. If it ends in a number, as pod names do, the others count
/// on.
Naming name_after_root(const char* substrate, const std::string& root) {
  Naming naming{.substrate = substrate, .group = {}};
  const std::string_view label = first_label(root);
  const std::optional<Numbered> parts = split_number(label);
  // The other pods of a PyTorchJob's master are workers.
  const bool counts_on =
      !is_address(root) && parts && parts->number == 0 && !parts->start.ends_with("-master-");
  naming.first = root;
  naming.group = counts_on ? parts->group() : std::string(label);
  naming.start = counts_on ? parts->start : "peer";  // only the name of index 0 is ever resolved
  if (counts_on) naming.end = root.substr(label.size());
  return naming;
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
  set_nodes(naming, number_variable(world, "LWS_GROUP_SIZE"));
  return naming;
}

/// Reads torchrun's variables, as Kubeflow Trainer's torch runtime sets them.
std::optional<Naming> name_torch(const World& world, const PeerRequest& request) {
  const auto root = world.variable("PET_MASTER_ADDR");
  if (!root) return std::nullopt;
  Naming naming = name_after_root("torch runtime", *root);
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
  return name_list("Volcano task", tasks[own].name, tasks[own].hosts, tasks[own].source);
}

/// Reads the nodes of an srun step with one agent per node (`srun --ntasks-per-node=1`).
std::optional<Naming> name_slurm(const World& world) {
  if (!world.variable("SLURM_JOB_ID") || !world.variable("SLURM_NODEID")) return std::nullopt;
  const bool step = world.variable("SLURM_STEP_NODELIST").has_value();
  const char* source = step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  auto expanded = expand_node_list(world.variable(source).value_or(""));
  if (const auto* problem = std::get_if<RangeProblem>(&expanded))
    throw Error(ErrorKind::config, fmt::format("{}: {}", source, problem->message), problem->hint);
  auto names = std::get<std::vector<std::string>>(std::move(expanded));
  if (names.empty())
    throw Error(ErrorKind::config, fmt::format("{} contains no nodes", source),
                "name them with --peers 'n[1-4]'");
  return name_list("Slurm job", *world.variable("SLURM_JOB_ID"), std::move(names), source);
}

/// Handles several Jobs of one JobSet in one dslaunch job; the pod's name does not contain their
/// number. `job`: what the group's name ends in.
void add_jobs(const World& world, Naming& naming, const std::optional<Numbered>& job) {
  const auto jobs = any_number(world, {"JOBSET_REPLICAS", "JOBSET_REPLICATEDJOB_REPLICAS"});
  if (!job || !jobs || jobs->value <= 1) return;
  if (job->number >= jobs->value)
    throw Error(ErrorKind::config,
                fmt::format("this pod belongs to job {} of its JobSet, but {} is {}", job->number,
                            jobs->source, jobs->value));
  naming.start = job->start;
  naming.group = job->group();
  naming.jobs = jobs->value;
  naming.job = job->number;
  if (const auto pods = number_variable(world, "JOBSET_JOB_COMPLETIONS"))
    set_nodes(naming, NumberClue{pods->value * jobs->value, pods->source});
}

/// Reads the name of a pod that ends in its index and has a subdomain.
std::optional<Naming> name_pods(const World& world, const std::optional<PodName>& pod) {
  if (!pod) return std::nullopt;
  const std::optional<Numbered> own = split_number(pod->host);
  if (!own) return std::nullopt;
  Naming naming{.substrate = "StatefulSet",
                .group = own->group(),
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
  const bool looks_so = job && naming.group.starts_with(pod->subdomain + "-");
  naming.substrate = world.variable("JOBSET_NAME") || looks_so ? "JobSet" : "Indexed Job";
  if (naming.substrate == "JobSet") add_jobs(world, naming, job);
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
  if (request.peers)
    return name_list("--peers", {}, expand_peers("--peers", *request.peers), "--peers");
  if (request.root) return name_after_root("root", *request.root);
  if (auto naming = name_lws(world)) return *naming;
  if (auto naming = name_torch(world, request)) return *naming;
  if (auto naming = name_volcano(world)) return *naming;
  if (auto naming = name_slurm(world)) return *naming;
  if (auto naming = name_pods(world, pod)) return *naming;
  if (const auto root = world.variable("MASTER_ADDR")) return name_after_root("MASTER_ADDR", *root);
  fail_naming(world, pod);
}

}  // namespace ds::launcher
