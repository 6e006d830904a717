#include "launcher/sources/node_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/error.h"
#include "launcher/hosts/host_word.h"
#include "launcher/slurm/allocation.h"
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

/// Replaces ignored keys by blanks, so that places in messages stay correct.
std::string without_ignored(std::string text) {
  for (const std::string_view word : {"gpu=", "binding="}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool starts = at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t');
      if (!starts) continue;
      const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
  }
  return text;
}

/// Returns the slots of a host without a number in its list: an integer, or `all` for kAutoSlots.
std::optional<int> default_slots(const World& world) {
  for (const char* name :
       {"OMPI_MCA_orte_set_default_slots", "PRTE_MCA_prte_set_default_slots", "I_MPI_PERHOST"}) {
    const auto text = world.variable(name);
    if (!text) continue;
    if (*text == "all" || *text == "allcores") return kAutoSlots;
    const int slots = number_variable(world, name)->value;
    if (slots < 1 || slots > kMaxSlots)
      throw Error(ErrorKind::config,
                  fmt::format("{}={} is out of range (1 to {})", name, slots, kMaxSlots));
    return slots;
  }
  return std::nullopt;
}

/// Parses like parse_hostfile, also included files. Ignores keys of other launchers such as `gpu=`,
/// and gives hosts without a number the default slots.
std::vector<Host> parse_host_list(const World& world, const std::string& text,
                                  const std::string& name) {
  const auto read_included = [&](const std::string& path, const std::string& from) {
    const std::string full =
        (std::filesystem::path(from).parent_path() / path).lexically_normal().string();
    const FileText file = world.read_file(full);
    if (!file.text)
      throw Error(ErrorKind::config, fmt::format("cannot read hostfile {}: {}", full, file.problem),
                  "relative paths start at the folder of the including file");
    return IncludedText{full, full, without_ignored(*file.text)};
  };
  std::vector<Host> hosts = parse_hostfile(without_ignored(text), name, read_included, name);
  const std::optional<int> slots = default_slots(world);
  for (Host& host : hosts) {
    if (!slots || !host.bare || host.slots != 1 || host.max_slots != 0) continue;
    host.slots = *slots;
    host.bare = false;
  }
  return hosts;
}

/// Reads a list file. A file that a variable names must exist; any other file, whose `variable` is
/// empty, must be readable if it exists.
std::optional<NodeList> try_file(const World& world, const std::string& path,
                                 const std::string& variable) {
  const FileText text = world.read_file(path);
  const bool named = !variable.empty();
  if (text.missing && !named) return std::nullopt;
  const std::string source = named ? fmt::format("{} ({})", path, variable) : path;
  if (!text.text)
    throw Error(ErrorKind::config,
                fmt::format("cannot read the host list {}: {}", source, text.problem),
                named ? fmt::format("unset {} to ignore it; {}", variable, kAlone) : kAlone);
  try {
    return NodeList{parse_host_list(world, *text.text, path), source};
  } catch (const Error& error) {
    std::string hint = error.hint().empty() ? kAlone : error.hint();
    if (named) hint += fmt::format("; {} names this file", variable);
    throw Error(ErrorKind::config, error.what(), hint);
  }
}

std::optional<NodeList> from_files(const World& world) {
  for (const char* variable : kFileVariables) {
    const auto path = world.variable(variable);
    if (!path || *path == "none") continue;  // Open MPI's value for no file
    return try_file(world, *path, variable);
  }
  for (const char* path : kFiles)
    if (auto list = try_file(world, path, "")) return list;
  return std::nullopt;
}

/// Reads the hosts of a Volcano job. The launcher is a task of its own (named master in Volcano's
/// examples), whose pods are not hosts. The task with the hosts is certain if there is one other
/// task, or if a task is named worker.
std::optional<NodeList> from_volcano(const World& world) {
  const std::vector<VolcanoTask> tasks = volcano_tasks(world);
  if (tasks.empty()) return std::nullopt;
  const std::size_t own = own_task(world, tasks);
  const VolcanoTask* chosen = nullptr;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    sources.push_back(tasks[i].source);
    const bool only_other = own == std::string::npos ? tasks.size() == 1 : tasks.size() == 2;
    if (i != own && (only_other || tasks[i].name == "WORKER")) chosen = &tasks[i];
  }
  if (tasks.size() == 1 && own == 0 && tasks[0].hosts.size() == 1) return std::nullopt;
  const bool is_one_of_many = own != std::string::npos && tasks[own].hosts.size() > 1;
  if (is_one_of_many || chosen == nullptr)
    throw Error(
        ErrorKind::config,
        fmt::format("Volcano lists hosts in {}, but {}", fmt::join(sources, ", "),
                    is_one_of_many ? "this pod is one of several pods of its task, not a launcher"
                                   : "it is not clear which of them this launcher must use"),
        is_one_of_many ? std::string(kAllAlike)
                       : fmt::format("choose one with --hostfile FILE; {}", kAlone));
  const std::string text = fmt::format("{}\n", fmt::join(chosen->hosts, "\n"));
  return NodeList{parse_host_list(world, text, chosen->source), chosen->source};
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
  NodeList list{{}, fmt::format("LeaderWorkerSet {} (LWS_LEADER_ADDRESS)", first_label(*leader))};
  for (const std::string& name : find_peers(world, {}).names)
    list.hosts.push_back({.name = name,
                          .slots = default_slots(world).value_or(kAutoSlots),
                          .place = {"LWS_LEADER_ADDRESS", 0, 0}});
  return list;
}

/// Reads Slurm's allocation, inside salloc or sbatch. Ranks of a step are handled elsewhere,
/// earlier.
std::optional<NodeList> from_slurm(const World& world) {
  const std::optional<Allocation> allocation =
      find_allocation([&](const std::string& name) { return world.variable(name); });
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
  constexpr std::size_t kMostRuns = 4;
  std::vector<std::string> runs;
  for (auto host = list.hosts.begin(); host != list.hosts.end();) {
    const auto end = std::find_if(host, list.hosts.end(),
                                  [&](const Host& other) { return other.slots != host->slots; });
    runs.push_back(fmt::format("{} x {}", end - host,
                               host->slots == kAutoSlots ? "auto" : std::to_string(host->slots)));
    host = end;
  }
  const std::string text = runs.size() > kMostRuns
                               ? fmt::format("{} with different slots", list.hosts.size())
                               : fmt::format("{}", fmt::join(runs, " + "));
  return fmt::format("hosts: {} from {}", text, list.source);
}

}  // namespace ds::launcher
