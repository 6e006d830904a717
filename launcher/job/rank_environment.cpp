#include "launcher/job/rank_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "engine/base/contract.h"

namespace ds::launcher {
namespace {

bool has(const EnvList& variables, std::string_view name) {
  return std::ranges::count(variables, name, &EnvList::value_type::first) > 0;
}

bool is_loopback(std::string_view address) {
  return address.substr(0, 4) == "127." || address == "::1" || address == "localhost";
}

}  // namespace

EnvList rank_place_env(const Placement& placement, int rank) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  const Node& node = placement.nodes[static_cast<std::size_t>(place.node_rank)];
  const std::string local = std::to_string(place.local_rank);
  const std::string locals = std::to_string(node.ranks.size());
  const std::string node_rank = std::to_string(placement.shown_node(place.node_rank));
  const std::string nodes = std::to_string(placement.shown_nodes());
  const Group& group = placement.groups[static_cast<std::size_t>(place.group)];
  return {{contract::kRank, std::to_string(placement.shown_rank(rank))},
          {contract::kLocalRank, local},
          {contract::kWorldSize, std::to_string(placement.shown_world())},
          {contract::kLocalWorldSize, locals},
          {contract::kNodeRank, node_rank},
          {contract::kGroupRank, node_rank},
          {contract::kGroupWorldSize, nodes},
          {contract::kCrossRank, node_rank},
          {contract::kCrossSize, nodes},
          {contract::kLocalSize, locals},
          {contract::kRoleName, group.name},
          {contract::kRoleRank, std::to_string(placement.shown_rank(rank) - group.first_rank)},
          {contract::kRoleWorldSize,
           std::to_string(placement.part ? placement.shown_world() : group.ranks)}};
}

EnvList node_env(const Placement& placement, int node, const JobIdentity& job,
                 const NodeFacts& facts, const JobEnvironment& user) {
  EnvList variables;
  if (!facts.local) variables = user.sent;
  if (facts.local && user.here) variables = *user.here;
  const bool inherits = facts.local && !user.here;
  const auto set_default = [&](const char* name, std::string value) {
    const bool inherited = inherits && std::ranges::count(user.own_names, name) > 0;
    if (!inherited && !has(variables, name) && !has(user.given, name))
      variables.emplace_back(name, std::move(value));
  };
  const auto ranks = static_cast<int>(placement.nodes[static_cast<std::size_t>(node)].ranks.size());
  if (!facts.bound)
    set_default(contract::kOmpNumThreads, std::to_string(threads_per_rank(facts, ranks)));
  set_default(contract::kAsyncErrorHandling, "1");
  if (!facts.interface.empty()) {
    set_default(contract::kGlooInterface, facts.interface);
    set_default(contract::kNcclInterface, "=" + facts.interface);  // without '=': a prefix
  }
  variables.insert(variables.end(), user.given.begin(), user.given.end());
  const std::string id = job_id_text(job.id);
  const std::string& name = placement.part ? placement.part->run_id : job.run_id;
  variables.emplace_back(contract::kRunId, name.empty() ? id : name);
  variables.emplace_back(contract::kUseAgentStore, "False");  // rank 0 makes the store
  // Parts that are started separately share a secret only if their environment has one.
  if (placement.shown_nodes() == static_cast<int>(placement.nodes.size())) {
    variables.emplace_back(contract::kJobId, id);
    variables.emplace_back(contract::kJobKey, job.key);
  }
  variables.emplace_back(contract::kEpoch, std::to_string(placement.epoch));
  variables.emplace_back(contract::kLiveProgress, std::to_string(job.live_columns));
  const double grace = std::chrono::duration<double>(job.grace).count();
  variables.emplace_back(contract::kGrace, fmt::format("{}", grace));
  return variables;
}

int threads_per_rank(const NodeFacts& facts, int ranks) {
  std::uint32_t cores = facts.cores;
  if (facts.quota_milli > 0) cores = std::min(cores, std::max(facts.quota_milli / 1000, 1U));
  return std::max(static_cast<int>(cores) / std::max(ranks, 1), 1);
}

std::string master_address(const Placement& placement, const std::vector<bool>& node_is_local,
                           const std::vector<std::string>& first_node,
                           const std::string& root_side) {
  const bool all_local = std::ranges::count(node_is_local, false) == 0;
  if (placement.nodes.size() == 1 || all_local) return "127.0.0.1";
  if (node_is_local.front()) return root_side.empty() ? "127.0.0.1" : root_side;
  if (!first_node.empty() && !is_loopback(first_node.front())) return first_node.front();
  // A loopback address works if all other nodes are also reached over loopback (`root_side`).
  if (!first_node.empty() && is_loopback(root_side)) return first_node.front();
  for (const std::string& address : first_node)
    if (!is_loopback(address)) return address;
  return placement.nodes.front().host.name;
}

std::string job_id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

EnvList pmi_env(const Placement& placement, int rank) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  const Node& node = placement.nodes[static_cast<std::size_t>(place.node_rank)];
  return {{"PMI_RANK", std::to_string(rank)},
          {"PMI_SIZE", std::to_string(placement.world_size())},
          {"MPI_LOCALRANKID", std::to_string(place.local_rank)},
          {"MPI_LOCALNRANKS", std::to_string(node.ranks.size())}};
}

EnvList family_env(const Placement& placement, int rank, const RankFamilies& families) {
  const RankPlace& place = placement.ranks[static_cast<std::size_t>(rank)];
  const Node& node = placement.nodes[static_cast<std::size_t>(place.node_rank)];
  const std::string own = std::to_string(placement.shown_rank(rank));
  const std::string world = std::to_string(placement.shown_world());
  const std::string local = std::to_string(place.local_rank);
  const std::string locals = std::to_string(node.ranks.size());
  int slots = 0;
  for (const Node& one : placement.nodes) slots += one.host.slots;
  std::string ranks_of_programs;
  for (const Group& group : placement.groups)
    ranks_of_programs += (ranks_of_programs.empty() ? "" : " ") + std::to_string(group.ranks);
  EnvList env;
  const auto add = [&](EnvList more) { env.insert(env.end(), more.begin(), more.end()); };
  if (families.openmpi)
    add({{"OMPI_COMM_WORLD_RANK", own},
         {"OMPI_COMM_WORLD_SIZE", world},
         {"OMPI_COMM_WORLD_LOCAL_RANK", local},
         {"OMPI_COMM_WORLD_LOCAL_SIZE", locals},
         {"OMPI_COMM_WORLD_NODE_RANK", local},
         {"OMPI_UNIVERSE_SIZE", std::to_string(std::max(slots, placement.shown_world()))},
         {"OMPI_NUM_APP_CTX", std::to_string(placement.groups.size())},
         {"OMPI_APP_CTX_NUM_PROCS", ranks_of_programs}});
  if (families.mpich)
    add({{"PMI_RANK", own},
         {"PMI_SIZE", world},
         {"MPI_LOCALRANKID", local},
         {"MPI_LOCALNRANKS", locals},
         {"PALS_LOCAL_RANKID", local},
         {"MV2_COMM_WORLD_RANK", own},
         {"MV2_COMM_WORLD_SIZE", world},
         {"MV2_COMM_WORLD_LOCAL_RANK", local},
         {"MV2_COMM_WORLD_LOCAL_SIZE", locals}});
  if (!families.horovod) return env;
  // Among the ranks of the same local rank: nodes that have fewer ranks do not count.
  const auto has_local = [&](const Node& other) {
    return other.ranks.size() > static_cast<std::size_t>(place.local_rank);
  };
  const auto begin = placement.nodes.begin();
  // Nodes of other parts are like this one.
  const auto others =
      static_cast<std::ptrdiff_t>(placement.shown_nodes()) - std::ssize(placement.nodes);
  add({{"HOROVOD_RANK", own},
       {"HOROVOD_SIZE", world},
       {"HOROVOD_LOCAL_RANK", local},
       {"HOROVOD_LOCAL_SIZE", locals},
       {"HOROVOD_CROSS_RANK",
        std::to_string(placement.shown_node(0) +
                       std::count_if(begin, begin + place.node_rank, has_local))},
       {"HOROVOD_CROSS_SIZE",
        std::to_string(others + std::count_if(begin, placement.nodes.end(), has_local))},
       {"HOROVOD_HOSTNAME", node.host.name}});
  return env;
}

}  // namespace ds::launcher
