#include "launcher/sources/peers.h"

#include <fmt/format.h>

#include <initializer_list>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kLongestJob = 200;

std::string count_text(const NodeCount& count) {
  return count.least == count.most ? fmt::format("{}", count.most)
                                   : fmt::format("{} to {}", count.least, count.most);
}

/// Returns --nnodes, unless the environment fixes the number; else the number from the names, from
/// --nodes or from general variables.
NodeCount find_count(const World& world, PeerRequest request, Naming& naming) {
  const bool by_range = !request.nodes && request.range && !naming.nodes_fixed;
  if (by_range) request.nodes = request.range;
  const char* const option = by_range ? "--nodes" : "--nnodes";
  for (const char* name : {"PET_NNODES", "NODE_NUM"}) {
    const auto text = world.variable(name);
    if (request.nodes || naming.nodes || !text) continue;
    naming.nodes = node_count_variable(name, *text);
    naming.nodes_source = name;
  }
  if (!request.nodes && !naming.nodes)
    throw Error(ErrorKind::usage,
                fmt::format("unknown number of nodes: the environment of {} {} does not give it",
                            naming.substrate, naming.group),
                "give it with --nnodes 4 or with --peers 'NAME-{0..3}.SUBDOMAIN'");
  if (!request.nodes) return *naming.nodes;
  const NodeCount count = *request.nodes;
  if (naming.nodes && naming.nodes_fixed && naming.nodes->most != count.most)
    throw Error(ErrorKind::usage,
                fmt::format("--nnodes is {}, but there are {} nodes ({})", count_text(count),
                            naming.nodes->most, naming.nodes_source),
                naming.substrate == "--peers" ? "name as many peers as there are nodes"
                                              : "remove --nnodes, or name all nodes with --peers");
  if (count.most % naming.jobs != 0)
    throw Error(ErrorKind::usage,
                fmt::format("{} {} cannot be divided among the {} jobs of the JobSet", option,
                            count.most, naming.jobs),
                "all jobs have the same number of pods");
  naming.nodes_source = option;
  return count;
}

NumberClue clue_of(const World& world, const PeerRequest& request, const Naming& naming,
                   const std::optional<PodName>& pod, const std::optional<int>& own_place,
                   int count) {
  if (request.node_rank) return {*request.node_rank, "--node-rank"};
  if (request.peers && own_place)
    return {*own_place, fmt::format("its name is {}", naming.names[*own_place])};
  if (request.peers && pod && !is_address(naming.names.front()))
    throw Error(ErrorKind::usage,
                fmt::format("none of the {} names of --peers is this pod, {}.{}", count, pod->host,
                            pod->subdomain),
                "use the names of the pods, or give the index with --node-rank");
  if (auto index = find_index(world)) {
    if (naming.jobs == 1) return *index;
    const int each = count / naming.jobs;
    if (index->value >= each)
      throw Error(ErrorKind::config,
                  fmt::format("{} is {}, but each of the {} jobs has {} of the {} nodes",
                              index->source, index->value, naming.jobs, each, count),
                  "--nnodes counts the pods of all jobs");
    return {naming.job * each + index->value,
            fmt::format("job {}, {} {}", naming.job, index->source, index->value)};
  }
  if (own_place) return {*own_place, "its name"};
  if (const auto own = split_number(first_label(world.hostname)))
    return {own->number, fmt::format("host name {}", first_label(world.hostname))};
  throw Error(
      ErrorKind::config,
      fmt::format("unknown index of this node among {}: the host name {} is not one of them, "
                  "and no variable gives it",
                  count, first_label(world.hostname)),
      "give it with --node-rank N");
}

/// Returns the own index, and checks that it is possible.
NumberClue find_own_index(const World& world, const PeerRequest& request, const Naming& naming,
                          const std::optional<PodName>& pod,
                          const std::vector<std::string>& names) {
  const int count = static_cast<int>(names.size());
  const std::optional<int> own_place = find_own_name(world, pod, names);
  NumberClue index = clue_of(world, request, naming, pod, own_place, count);
  const ErrorKind kind = request.node_rank ? ErrorKind::usage : ErrorKind::config;
  if (index.value >= count)
    throw Error(kind,
                fmt::format("this node has index {} ({}), but the job has {} ({})", index.value,
                            index.source, counted(count, "node"), naming.nodes_source),
                "node indexes start at 0; --nnodes or --peers must cover all nodes");
  if (own_place && *own_place != index.value && !is_address(names[*own_place]))
    throw Error(
        kind,
        fmt::format("the index of this node is ambiguous: {} is {}, but the host name is that "
                    "of node {}, {}",
                    index.source, index.value, *own_place, names[*own_place]),
        "the index and the name must belong to the same node");
  return index;
}

std::string dial_name(const std::string& name, const std::optional<PodName>& pod) {
  const std::size_t dot = name.find('.');
  if (!pod || dot == std::string::npos || is_address(name)) return name;
  const std::string rest = name_as_compared(name.substr(dot + 1));
  const std::string tail = pod->tail();
  const bool is_start = tail.starts_with(rest) && tail.substr(rest.size(), 1) == ".";
  return is_start ? name.substr(0, dot + 1) + tail : name;
}

std::string namespace_of(const World& world, const std::optional<PodName>& pod) {
  if (pod) return pod->space;
  if (auto space = world.variable("POD_NAMESPACE")) return *space;
  const FileText file = world.read_file("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
  if (file.text) return *file.text;
  // kubelet writes for every pod: search default.svc.cluster.local svc.cluster.local ...
  std::istringstream lines(world.read_file("/etc/resolv.conf").text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != "search") continue;
    while (words >> word)
      if (const std::size_t dot = word.find('.'); word.compare(dot + 1, 4, "svc.") == 0 && dot > 0)
        return word.substr(0, dot);
  }
  return {};
}

std::string job_identity(const World& world, const std::optional<PodName>& pod,
                         const std::string& folded) {
  std::string job = folded;
  if (const std::string space = namespace_of(world, pod); !space.empty()) job = space + "/" + job;
  if (job.size() > kLongestJob) {  // with its FNV-1a hash, which distinguishes long lists of names
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    job = fmt::format("{}...{:016x}", job.substr(0, kLongestJob), hash);
  }
  const auto add_first = [&](const char* what, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const auto value = world.variable(name)) return void(job += what + *value);
  };
  add_first(" uid ", {"DSLAUNCH_JOB_UID", "JOBSET_UID", "JOB_UID", "SLURM_JOB_ID"});
  add_first(" attempt ", {"JOBSET_RESTART", "JOBSET_RESTART_ATTEMPT", "SLURM_RESTART_COUNT"});
  return job;
}

}  // namespace

Peers find_peers(const World& world, const PeerRequest& request) {
  const std::optional<PodName> pod = find_pod_name(world);
  Naming naming = find_naming(world, request, pod);
  const NodeCount count = find_count(world, request, naming);
  Peers peers;
  peers.substrate = naming.substrate;
  peers.names = naming.name_all(count.most);
  peers.least = count.least;
  peers.port = naming.port;
  std::string place = "this is the launcher";
  if (!request.only_launches) {
    const NumberClue index = find_own_index(world, request, naming, pod, peers.names);
    peers.index = index.value;
    place = fmt::format("this is {} ({})", index.value, index.source);
  }
  for (const std::string& name : peers.names) peers.dial.push_back(dial_name(name, pod));
  const std::string folded = fold_names(peers.names);
  peers.job = job_identity(world, pod, folded);
  const std::string of =
      request.peers ? "" : fmt::format(" of {} {}", naming.substrate, naming.group);
  peers.line = fmt::format("peers: {} ({}){}, {}: {}", count_text(count), naming.nodes_source, of,
                           place, folded);
  return peers;
}

}  // namespace ds::launcher
