// Sources of host lists in order of precedence, one function each.
#include "launcher/sources/node_sources.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/error.h"
#include "launcher/slurm/allocation.h"
#include "launcher/sources/host_list_text.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

constexpr std::array<const char*, 6> kFileVariables = {kHostfileVariable,
                                                       "OMPI_MCA_orte_default_hostfile",
                                                       "PRTE_MCA_prte_default_hostfile",
                                                       "I_MPI_HYDRA_HOST_FILE",
                                                       "HYDRA_HOST_FILE",
                                                       "DLTS_HOSTFILE"};
constexpr std::array<const char*, 3> kFiles = {"/job/hostfile", "/etc/mpi/hostfile",
                                               "/etc/edl/hostfile"};
constexpr const char* kAlone = "to run only on this machine, use --host localhost";
constexpr const char* kAllAlike =
    "if every pod runs the same command, use: dslaunch agent --join -- COMMAND; "
    "to run only in this pod, use --host localhost";

struct ListFile {
  std::string path;
  std::string variable;  // variable that names the file; may be empty
  [[nodiscard]] std::string source() const {
    return variable.empty() ? path : fmt::format("{} ({})", path, variable);
  }
};

NodeList read_list(const World& world, const ListFile& file, const std::string& text) {
  try {
    NodeList list{parse_host_list(world, text, file.path), file.source()};
    set_default_slots(world, list.hosts);
    return list;
  } catch (const Error& error) {
    std::string hint = error.hint().empty() ? kAlone : error.hint();
    if (!file.variable.empty()) hint += fmt::format("; {} names this file", file.variable);
    throw Error(ErrorKind::config, error.what(), hint);
  }
}

/// Reads a list file. A file that a variable names must exist; any other file must be readable if
/// it exists.
std::optional<NodeList> try_file(const World& world, const ListFile& file) {
  const FileText text = world.read_file(file.path);
  if (text.text) return read_list(world, file, *text.text);
  if (text.missing && file.variable.empty()) return std::nullopt;
  throw Error(ErrorKind::config,
              fmt::format("cannot read the host list {}: {}", file.source(), text.problem),
              file.variable.empty()
                  ? kAlone
                  : fmt::format("unset {} to ignore it; {}", file.variable, kAlone));
}

std::optional<NodeList> from_files(const World& world) {
  for (const char* variable : kFileVariables) {
    const auto path = world.variable(variable);
    if (!path || *path == "none") continue;  // Open MPI's value for no file
    return try_file(world, {*path, variable});
  }
  for (const char* path : kFiles)
    if (auto list = try_file(world, {path, ""})) return list;
  return std::nullopt;
}

/// Reads the hosts of a Volcano job. Its launcher is a task of its own (named master in Volcano's
/// examples), whose pods are not hosts. The task with the hosts is certain if there is one other
/// task, or if a task is named worker.
std::optional<NodeList> from_volcano(const World& world) {
  const std::vector<VolcanoTask> tasks = volcano_tasks(world);
  if (tasks.empty()) return std::nullopt;
  const std::size_t own = own_task(world, tasks);
  const VolcanoTask* chosen = nullptr;
  std::string names;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    names += (names.empty() ? "" : ", ") + tasks[i].source;
    const bool only_other = own == std::string::npos ? tasks.size() == 1 : tasks.size() == 2;
    if (i != own && (only_other || tasks[i].name == "WORKER")) chosen = &tasks[i];
  }
  const bool alone = tasks.size() == 1 && own == 0 && tasks[0].hosts.size() == 1;
  if (alone) return std::nullopt;
  const bool is_one_of_many = own != std::string::npos && tasks[own].hosts.size() > 1;
  if (is_one_of_many || chosen == nullptr)
    throw Error(
        ErrorKind::config,
        fmt::format("Volcano lists hosts in {}, but {}", names,
                    is_one_of_many ? "this pod is one of several pods of its task, not a launcher"
                                   : "it is not clear which of them this launcher must use"),
        is_one_of_many ? std::string(kAllAlike)
                       : fmt::format("choose one with --hostfile FILE; {}", kAlone));
  NodeList list{{}, chosen->source};
  std::string text;
  for (const std::string& host : chosen->hosts) text += host + "\n";
  list.hosts = parse_host_list(world, text, chosen->source);
  set_default_slots(world, list.hosts);
  return list;
}

/// Reads the group of a LeaderWorkerSet, whose leader may be a launcher. A launcher in a worker
/// shows that all pods run the same command.
std::optional<NodeList> from_lws(const World& world) {
  const auto leader = world.variable("LWS_LEADER_ADDRESS");
  const auto size = number_variable(world, "LWS_GROUP_SIZE");
  const auto index = number_variable(world, "LWS_WORKER_INDEX");
  if (!leader || !size || !index || size->value <= 1) return std::nullopt;
  if (index->value != 0)
    throw Error(ErrorKind::config,
                fmt::format("this is worker {} of a LeaderWorkerSet of {} pods, not a launcher",
                            index->value, size->value),
                kAllAlike);
  const Peers peers = find_peers(world, {});
  NodeList list{{}, fmt::format("LeaderWorkerSet {} (LWS_LEADER_ADDRESS)", first_label(*leader))};
  for (const std::string& name : peers.names) {
    Host host;
    host.name = name;
    host.slots = kAutoSlots;
    host.place = {"LWS_LEADER_ADDRESS", 0, 0};
    list.hosts.push_back(std::move(host));
  }
  if (const auto slots = default_slots(world))
    for (Host& host : list.hosts) host.slots = *slots;
  return list;
}

/// Reads Slurm's allocation, inside salloc or sbatch. Ranks of a step are handled elsewhere,
/// earlier.
std::optional<NodeList> from_slurm(const World& world) {
  const SlurmVariable variable = [&](const std::string& name) { return world.variable(name); };
  const std::optional<Allocation> allocation = find_allocation(variable);
  if (!allocation) return std::nullopt;
  const std::string slots =
      allocation->slots_from.empty() ? "" : fmt::format(", slots from {}", allocation->slots_from);
  return NodeList{
      allocation->hosts,
      fmt::format("Slurm job {} ({}{})", allocation->job, allocation->nodes_from, slots), true};
}

/// Refuses torchrun's variables: they show that this is one of several pods with the same command.
void refuse_torch(const World& world) {
  const auto count = world.variable("PET_NNODES");
  if (!count || node_count_variable("PET_NNODES", *count).most <= 1) return;
  throw Error(
      ErrorKind::config,
      fmt::format("PET_NNODES={}: this is one of several nodes that all start the job, not a "
                  "launcher",
                  *count),
      kAllAlike);
}

}  // namespace

std::optional<NodeList> find_node_list(const World& world) {
  if (auto list = from_files(world)) return list;
  if (auto list = from_volcano(world)) return list;
  if (auto list = from_lws(world)) return list;
  refuse_torch(world);
  return from_slurm(world);
}

std::string describe(const NodeList& list) {
  struct Run {
    std::size_t hosts;
    int slots;
  };
  std::vector<Run> runs;
  for (const Host& host : list.hosts) {
    if (runs.empty() || runs.back().slots != host.slots) runs.push_back({0, host.slots});
    ++runs.back().hosts;
  }
  constexpr std::size_t kMostRuns = 4;
  std::string text;
  for (const Run& run : runs)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", run.hosts,
                        run.slots == kAutoSlots ? "auto" : std::to_string(run.slots));
  if (runs.size() > kMostRuns) text = fmt::format("{} with different slots", list.hosts.size());
  return fmt::format("hosts: {} from {}", text, list.source);
}

}  // namespace ds::launcher
