#include "launcher/job/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "engine/base/contract.h"
#include "engine/base/split.h"
#include "launcher/job/master_search.h"
#include "launcher/mpi/pmi_rank.h"
#include "launcher/mpi/process_mapping.h"

namespace ds::launcher {
namespace {

std::string device_name(const Hello& hello, int slot) {
  const auto index = static_cast<std::size_t>(slot);
  return hello.devices_limited && index < hello.devices.size() ? hello.devices[index]
                                                               : std::to_string(slot);
}

MpiSpec mpi_spec(MpiWire wire, const Placement& placement, const std::string& space) {
  MpiSpec spec{.wire = wire, .size = placement.world_size()};
  if (spec.has_pmix()) {
    spec.space = space;
    for (const Node& node : placement.nodes) spec.nodes.push_back({node.host.name, node.ranks});
    for (const Group& group : placement.groups)
      spec.apps.push_back({group.first_rank, group.ranks});
  }
  if (!spec.has_pmi()) return spec;
  std::vector<int> node_of_rank;
  for (const RankPlace& rank : placement.ranks) node_of_rank.push_back(rank.node_rank);
  spec.process_mapping = process_mapping(node_of_rank, kPmiMaxValue - 1);
  return spec;
}

/// Returns the binding on a node. A default does not bind more ranks than there are cores. Nor does
/// it bind in containers that share a machine by CPU time: each of them would choose the same
/// cores.
Bind bind_on(const JobRequest& request, std::size_t ranks, const Hello& hello) {
  const bool crowded = ranks * std::max<std::size_t>(hello.core_threads, 1) > hello.cores;
  const bool shared = hello.quota_milli > 0 && hello.quota_milli / 1000 < hello.cores;
  return request.bind_by_default && (crowded || shared) ? Bind::none : request.bind;
}

/// Returns whether the node hides all devices; they stay hidden.
bool hides_devices(const Hello& hello) { return hello.devices_limited && hello.devices.empty(); }

}  // namespace

EnvList device_env(const Host& host, const Hello& hello) {
  if (host.devices.empty() || hides_devices(hello)) return {};
  std::string list;
  for (const int slot : host.devices) list += (list.empty() ? "" : ",") + device_name(hello, slot);
  return {{contract::kCudaVisibleDevices, list}};
}

EnvList own_device_env(const Host& host, int local_rank, const Hello& hello) {
  if (hides_devices(hello)) return {};
  const auto index = static_cast<std::size_t>(local_rank);
  const int slot = host.devices.empty() ? local_rank % std::max(host.slots, 1)
                                        : host.devices[index % host.devices.size()];
  return {{contract::kCudaVisibleDevices, device_name(hello, slot)}};
}

std::string device_of_rank(const Host& host, int local_rank, bool own, const EnvList& given,
                           const Hello& hello) {
  if (hello.devices.empty()) return {};
  std::string list;
  for (const auto& [name, value] :
       own ? own_device_env(host, local_rank, hello) : device_env(host, hello))
    list = value;
  for (const auto& [name, value] : given)
    if (name == contract::kCudaVisibleDevices) list = value, own = false;
  if (list.empty())
    return local_rank < static_cast<int>(hello.devices.size()) ? device_name(hello, local_rank)
                                                               : "";
  const std::vector<std::string_view> devices = split(list, ',');
  const auto index = static_cast<std::size_t>(own ? 0 : local_rank);
  return index < devices.size() ? std::string(devices[index]) : "";
}

std::string device_problem(const Host& host, bool own, const Hello& hello) {
  if (!hello.devices_limited || hello.devices.empty()) return {};
  int highest = own ? host.slots - 1 : -1;
  if (!host.devices.empty()) highest = *std::max_element(host.devices.begin(), host.devices.end());
  if (highest < static_cast<int>(hello.devices.size())) return {};
  return fmt::format(
      "{}: slot {} is chosen, but CUDA_VISIBLE_DEVICES there lists {} device{} (slot 0 is its "
      "first)",
      host.name, highest, hello.devices.size(), hello.devices.size() == 1 ? "" : "s");
}

std::string device_of_rank(const JobRequest& request, const Placement& placement, int rank,
                           const Hello& hello) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  EnvList given = request.environment.given;
  const EnvList& own = request.programs[static_cast<std::size_t>(place.group)].env;
  given.insert(given.end(), own.begin(), own.end());
  const Host& host = placement.nodes[static_cast<std::size_t>(place.node_rank)].host;
  return device_of_rank(host, place.local_rank, request.own_devices, given, hello);
}

Spec make_spec(const JobRequest& request, const Placement& placement, int node,
               const JobIdentity& identity, const Hello& hello, bool local) {
  const Node& place = placement.nodes[static_cast<std::size_t>(node)];
  const Bind bind = bind_on(request, place.ranks.size(), hello);
  const NodeFacts facts{.cores = hello.cores,
                        .quota_milli = hello.quota_milli,
                        .local = local,
                        .interface = request.master.iface
                                         ? interface_of(*request.master.iface, hello.addresses)
                                         : std::string(),
                        .bound = bind == Bind::level};
  Spec spec;
  spec.node_rank = node;
  spec.nodes = static_cast<std::int32_t>(placement.nodes.size());
  for (const Program& program : request.programs)
    spec.programs.push_back({.argv = program.argv,
                             .env = program.env,
                             .cwd = program.working_directory,
                             .rank_channel = request.trains});
  spec.env = device_env(place.host, hello);
  const EnvList others = node_env(placement, node, identity, facts, request.environment);
  spec.inherit_env = !(local && request.environment.here);
  spec.env.insert(spec.env.end(), others.begin(), others.end());
  spec.env.emplace_back(contract::kRestartCount, std::to_string(placement.restarts));
  spec.env.emplace_back(contract::kMaxRestarts, std::to_string(request.policy.max_restarts));
  spec.umask = request.umask;
  spec.isolate = request.isolate;
  spec.bind = bind;
  spec.level = request.level;
  spec.tell_binding = request.tell_binding;
  spec.limits = request.limits;
  spec.grace_ms = static_cast<std::uint32_t>(request.policy.grace.count());
  spec.node_timeout_ms = static_cast<std::uint32_t>(request.policy.node_timeout.count());
  // If the user gives both, rank 0 listens elsewhere.
  spec.hold_port = node == 0 && (request.master.address.empty() || request.master.port == 0);
  spec.port = request.master.port;
  spec.job_cookie = job_id_text(identity.id);
  spec.keep_agent = request.policy.keeps_agents();
  if (request.elastic_ranks)
    spec.env.emplace_back(contract::kElasticRanks, range_text(*request.elastic_ranks));
  if (request.mpi != MpiWire::none)
    spec.mpi =
        mpi_spec(request.mpi, placement, fmt::format("{}-{}", identity.mpi_space, placement.epoch));
  for (const int number : place.ranks) {
    const RankPlace& rank = placement.ranks[static_cast<std::size_t>(number)];
    RankSpec& rank_spec = spec.ranks.emplace_back();
    rank_spec.rank = number;
    rank_spec.local_rank = rank.local_rank;
    rank_spec.program = rank.group;
    rank_spec.env = rank_place_env(placement, number);
    RankFamilies wanted = request.environment.families;
    wanted.openmpi = wanted.openmpi || spec.mpi.has_pmix();
    const EnvList families = family_env(placement, number, wanted);
    rank_spec.env.insert(rank_spec.env.end(), families.begin(), families.end());
    const auto add = [&](const EnvList& more) {
      rank_spec.env.insert(rank_spec.env.end(), more.begin(), more.end());
    };
    if (spec.mpi.has_pmi()) add(pmi_env(placement, number));
    // MPICH 5 refuses to choose if it finds both.
    if (spec.mpi.wire == MpiWire::any) add({{"MPIR_CVAR_PMI_VERSION", "1"}});
    if (bind != Bind::none) rank_spec.device = device_of_rank(request, placement, number, hello);
    if (!request.own_devices) continue;
    const EnvList device = own_device_env(place.host, rank.local_rank, hello);
    rank_spec.env.insert(rank_spec.env.end(), device.begin(), device.end());
  }
  return spec;
}

}  // namespace ds::launcher
