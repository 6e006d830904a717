// Hosts of a job: reads the named hosts, asks for unknown slots and applies the selection.
#include "launcher/commands/start/find_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/forward_env.h"
#include "launcher/commands/pods/pod_words.h"
#include "launcher/commands/start/routes.h"
#include "launcher/hosts/host_word.h"
#include "launcher/hosts/hostfile.h"
#include "launcher/job/ask_hosts.h"
#include "launcher/sources/node_sources.h"
#include "launcher/sources/own_names.h"
#include "launcher/sources/world.h"

namespace ds::launcher {

namespace {

bool has_auto_slots(const Host& host) { return host.slots == kAutoSlots; }

/// Returns this machine, with one slot for each requested rank. A program beside others that names
/// no number has one rank.
Host this_machine(const Options& options) {
  const HostSelection& selection = options.hosts.selection;
  Host host;
  host.name = "localhost";
  host.bare = true;
  int ranks = options.hosts.ranks.value_or(options.more_programs.empty() ? 0 : 1);
  for (const MoreProgram& program : options.more_programs) ranks += program.ranks.value_or(1);
  host.slots = std::clamp(ranks, 1, kMaxSlots);
  const bool by_device =
      !selection.include.empty() || !selection.exclude.empty() || options.hosts.all_slots;
  if (selection.num_gpus && ranks == 0) host.slots = *selection.num_gpus;
  if (by_device) host.slots = kAutoSlots;
  return host;
}

/// Returns the host list of an operator, a scheduler or another launcher if the options name no
/// host. Returns nothing inside a rank of a dslaunch job and with --transport local: these start
/// ranks on this machine. Errors:  as find_node_list.
std::optional<NodeList> found_list(const Options& options) {
  const bool part = options.hosts.part && options.hosts.part->nodes > 0;
  const bool named =
      part || options.hosts.hostfile || options.pods.k8s || !options.hosts.selection.picks.empty();
  const TransportChoice choice = options.reach.transport;
  if (named || choice == TransportChoice::local || choice == TransportChoice::join)
    return std::nullopt;
  const World world = this_world();
  if (world.variable(contract::kJobId)) return std::nullopt;
  return find_node_list(world);
}

/// Returns the allocation of this process if the options name no other hosts. Errors:
/// Error{config} of find_allocation.
std::optional<Allocation> allocation_as_hosts(const Options& options) {
  // Check this first: without an allocation the lists need not be read again.
  if (options.hosts.part || !in_allocation(own_variable)) return std::nullopt;
  const std::optional<NodeList> list = found_list(options);
  if (!list || !list->slurm) return std::nullopt;
  return find_allocation(own_variable);
}

/// Returns what --host of later programs names.
std::vector<HostPick> picks_of_programs(const Options& options) {
  std::vector<HostPick> picks;
  for (const MoreProgram& program : options.more_programs)
    picks.insert(picks.end(), program.hosts.begin(), program.hosts.end());
  return picks;
}

/// Adds the hosts of later programs, and leaves those that are in the list.
void add_hosts_of_programs(std::vector<Host>& hosts, const Options& options) {
  for (Host& host : hosts_of_picks(picks_of_programs(options)))
    if (std::ranges::count(hosts, host.name, &Host::name) == 0) hosts.push_back(std::move(host));
}

std::vector<Host> named_hosts(const Options& options,
                              const std::function<void(const std::string&)>& say) {
  if (options.hosts.part && options.hosts.part->nodes > 0) return {this_machine(options)};
  if (options.hosts.hostfile) return load_hostfile(*options.hosts.hostfile);
  if (!options.hosts.selection.picks.empty()) return hosts_of_picks(options.hosts.selection.picks);
  if (options.pods.k8s) {
    const Peers peers = peers_of_launcher(options, this_world());
    say(peers.line);
    return peer_hosts(options.pods, peers);
  }
  std::optional<NodeList> list = found_list(options);
  if (!list) {
    std::vector<Host> hosts;  // those of other programs, if there are any
    add_hosts_of_programs(hosts, options);
    return hosts.empty() ? std::vector<Host>{this_machine(options)} : hosts;
  }
  say(describe(*list));
  return std::move(list->hosts);
}

void remove_own_host(std::vector<Host>& hosts) {
  std::erase_if(hosts, [own = own_names()](const Host& host) { return is_own_host(host, own); });
  if (hosts.empty())
    throw Error(ErrorKind::config, "--no-local leaves no host for the job",
                "name other hosts with --hostfile or --host");
}

/// Returns whether the file was written a moment ago and does not end with a line: more may follow.
bool is_being_written(const std::string& path) {
  constexpr std::chrono::seconds kMoment{10};
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error || std::filesystem::file_time_type::clock::now() - written > kMoment) return false;
  std::ifstream file(path, std::ios::binary);
  file.seekg(-1, std::ios::end);
  return file && file.get() != '\n';
}

/// Prepares a host for ppr:N:PART: its slots depend on its parts, up to the given number.
void count_parts_later(Host& host) {
  if (host.slots != kAutoSlots && !host.bare) host.max_slots = host.slots;
  host.slots = kAutoSlots;
  host.bare = false;
}

/// Returns the slots that --ppn gives to every host. If programs after ':' have a --ppn of their
/// own, each of `groups` gets its own, and a host has room for all.
std::optional<int> ranks_per_host(const Options& options, std::vector<GroupRequest>& groups) {
  const auto has_own = [](const GroupRequest& group) { return group.per_host.has_value(); };
  if (std::ranges::none_of(groups, has_own)) return options.hosts.ranks_per_host;
  groups.front().per_host = options.hosts.ranks_per_host;
  if (!std::ranges::all_of(groups, has_own)) return std::nullopt;
  int all = 0;
  for (const GroupRequest& group : groups) all += *group.per_host;
  return std::min(all, kMaxSlots);
}

/// Moves hosts whose slots are still unknown to the end, where the spares are. There they count
/// with the fewest slots of the other hosts.
void make_spares_of_unknown(std::vector<Host>& hosts) {
  const auto unknown = std::ranges::stable_partition(hosts, std::not_fn(has_auto_slots));
  int slots = kMaxSlots;
  for (const Host& host : std::ranges::subrange(hosts.begin(), unknown.begin()))
    slots = std::min(slots, host.slots);
  for (Host& host : unknown) host.slots = slots;
}

/// Returns how many hosts need not answer.
int spares_of(const Options& options, std::size_t hosts) {
  if (!options.failure.nodes) return options.failure.spares;
  return std::max(static_cast<int>(hosts) - options.failure.nodes->least, 0);
}

/// Places a job whose number of nodes may change: on its first hosts; the others are spares.
PlacedJob place_elastic(NodeRange range, std::vector<Host> hosts, const PlacementRequest& request,
                        std::uint64_t epoch) {
  if (std::cmp_less(hosts.size(), range.least))
    throw Error(ErrorKind::config,
                fmt::format("--nodes {}:{} needs at least {}, but {} given", range.least,
                            range.most == 0 ? "" : std::to_string(range.most),
                            counted(range.least, "host"),
                            hosts.size() == 1 ? "1 is" : fmt::format("{} are", hosts.size())),
                "name more hosts with --hostfile or --host, or lower MIN");
  if (range.most == 0) range.most = static_cast<int>(hosts.size());
  PlacedJob placed;
  placed.elastic = request;
  placed.nodes_least = range.least;
  placed.nodes_most = range.most;
  placed.elastic_ranks = elastic_ranks(hosts, request, range);  // refuses hosts without room
  if (placed.elastic_ranks->most > kMostRanks)
    throw Error(ErrorKind::config,
                fmt::format("--nodes {}:{} allows {} ranks; a job can have at most {}", range.least,
                            range.most, placed.elastic_ranks->most, kMostRanks),
                "lower MAX or the slots of the hosts");
  placed.widest = widest_placement(hosts, request, range, epoch);
  const std::size_t first = std::min(hosts.size(), static_cast<std::size_t>(range.most));
  placed.spares.assign(hosts.begin() + static_cast<std::ptrdiff_t>(first), hosts.end());
  hosts.resize(first);
  placed.placement = place_groups(hosts, request, epoch);
  return placed;
}

/// Sets the slots of hosts with kAutoSlots: reads this machine's facts, asks the other hosts.
void find_auto_slots(std::vector<Host>& hosts, const Options& options,
                     const std::function<void(const std::string&)>& say) {
  const ReachOptions& reach = options.reach;
  std::vector<Host> unknown;
  std::ranges::copy_if(hosts, std::back_inserter(unknown), has_auto_slots);
  if (unknown.empty()) return;
  asio::io_context io(1);
  const Routes routes = make_routes(io, unknown, reach);
  std::vector<Host> others;
  std::vector<NodeRoute> ways;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (routes.by_host[i].local) continue;
    others.push_back(unknown[i]);
    ways.push_back(routes.by_host[i]);
  }
  if (in_pod() || options.pods.k8s) await_hosts(others, reach, options.pods.wait);
  std::vector<std::optional<Hello>> hellos;
  if (!others.empty())
    hellos = ask_hosts(io, others, ways,
                       {.start_timeout = start_timeout(reach),
                        .timeout = options.failure.timeout,
                        .spares = spares_of(options, hosts.size()),
                        .say = say});
  auto route = routes.by_host.begin();
  auto hello = hellos.begin();
  for (Host& host : hosts) {
    if (!has_auto_slots(host)) continue;
    const std::optional<Hello> facts = (route++)->local ? describe_node() : *hello++;
    if (!facts) continue;
    // A pod has as many cores as one rank needs, so the number of cores does not give the ranks.
    host.slots = options.pods.k8s && facts->devices.empty() ? 1 : auto_slots(*facts);
    if (options.hosts.map.per_part > 0) host.slots = slots_by_part(options.hosts.map, *facts);
    if (host.max_slots > 0) host.slots = std::min(host.slots, host.max_slots);
  }
  make_spares_of_unknown(hosts);
}

}  // namespace

std::optional<Allocation> allocation_by_srun(const Options& options) {
  if (options.reach.transport == TransportChoice::automatic) return allocation_as_hosts(options);
  if (options.reach.transport != TransportChoice::slurm) return std::nullopt;
  std::optional<Allocation> allocation = find_allocation(own_variable);
  if (!allocation)
    throw Error(ErrorKind::config,
                "--transport slurm: not inside a Slurm allocation (SLURM_JOB_ID is not set)",
                "run it inside salloc or sbatch, for example: salloc -N 4 --ntasks-per-node=2 "
                "dslaunch ...");
  return allocation;
}

std::vector<Host> find_hosts(const Options& options,
                             const std::function<void(const std::string&)>& say) {
  HostSelection selection = options.hosts.selection;
  selection.spares = options.failure.spares;
  std::vector<Host> hosts = named_hosts(options, say);
  if (options.hosts.hostfile && options.hosts.separate) {
    selection.picks.clear();  // each program has its own
  } else if (options.hosts.hostfile && !selection.picks.empty()) {
    const std::vector<HostPick> more = picks_of_programs(options);
    selection.picks.insert(selection.picks.end(), more.begin(), more.end());
  } else if (!options.hosts.hostfile) {
    selection.picks.clear();  // the picks already are the hosts
    if (!options.hosts.selection.picks.empty()) add_hosts_of_programs(hosts, options);
  }
  if (options.hosts.no_local) remove_own_host(hosts);
  if (options.hosts.map.per_part > 0) std::ranges::for_each(hosts, count_parts_later);
  hosts = select_hosts(std::move(hosts), selection);
  // Agents that srun starts report the slots of their nodes.
  const bool says_itself =
      options.hosts.dry_run == DryRun::off && allocation_by_srun(options).has_value();
  if (says_itself && options.hosts.map.per_part > 0)
    usage_error("--map-by ppr:N:PART: the parts of the nodes are not known before srun starts",
                "give --ppn N, or ppr:N:node");
  if (says_itself && std::ranges::any_of(hosts, has_auto_slots)) return hosts;
  find_auto_slots(hosts, options, say);
  return select_slots(std::move(hosts), selection);
}

HostfileReader hostfile_reader(const Options& options) {
  if (!options.failure.nodes || !options.hosts.hostfile || *options.hosts.hostfile == "-")
    return {};
  return [&options] {
    HostfileLook look;
    try {
      look.is_whole = !is_being_written(*options.hosts.hostfile);
      look.hosts = load_hostfile(*options.hosts.hostfile);
      if (options.hosts.no_local) remove_own_host(look.hosts);
      look.hosts = select_hosts(std::move(look.hosts), options.hosts.selection);
      if (std::ranges::none_of(look.hosts, has_auto_slots))
        look.hosts = select_slots(std::move(look.hosts), options.hosts.selection);
    } catch (const Error& error) {
      look.hosts.clear();
      look.problem = error.what();
    }
    return look;
  };
}

PlacedJob place_job(const Options& options, std::vector<Host> hosts, std::uint64_t epoch) {
  PlacementRequest request;
  request.groups = {{.name = options.hosts.role, .ranks = options.hosts.ranks}};
  if (options.hosts.separate || !picks_of_programs(options).empty())
    request.groups.front().hosts = options.hosts.selection.picks;
  for (const MoreProgram& program : options.more_programs)
    request.groups.push_back({.name = program.role,
                              .ranks = program.ranks,
                              .hosts = program.hosts,
                              .per_host = program.per_host});
  request.in_sequence = options.hosts.map.in_sequence;
  request.by_node = options.hosts.map.spreads();
  request.rank_by_node = options.hosts.map.ranks_by_node();
  request.oversubscribe = options.hosts.oversubscribe != Oversubscribe::off;
  request.rounds = options.hosts.oversubscribe == Oversubscribe::rounds;
  request.ranks_per_host = ranks_per_host(options, request.groups);
  if (options.failure.nodes) return place_elastic(*options.failure.nodes, hosts, request, epoch);
  PlacedJob placed;
  placed.spares = take_spares(hosts, options.failure.spares);
  placed.placement = place_groups(hosts, request, epoch);
  check_spares(placed.placement, placed.spares);
  return placed;
}

int slots_by_part(const RankMap& map, const Hello& node) {
  const std::uint32_t parts = map.part == Level::socket ? node.sockets
                              : map.part == Level::numa ? node.numa_nodes
                              : map.part == Level::hwthread
                                  ? node.cores
                                  : node.cores / std::max<std::uint32_t>(node.core_threads, 1);
  return static_cast<int>(
      std::clamp<std::int64_t>(std::int64_t{parts} * map.per_part, 1, kMaxSlots));
}

int auto_slots(const Hello& hello) {
  if (!hello.devices.empty()) return std::min(static_cast<int>(hello.devices.size()), kMaxSlots);
  std::uint32_t cores = hello.cores;
  if (hello.quota_milli > 0) cores = std::min(cores, std::max(hello.quota_milli / 1000, 1U));
  return static_cast<int>(std::clamp<std::uint32_t>(cores, 1, kMaxSlots));
}

}  // namespace ds::launcher
