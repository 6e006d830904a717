// Who stands where, as variables; and which of the user's own variables travel.
#include "launcher/job/rank_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "runner/contract.h"

namespace ds::launcher {

namespace {

// What jobs of this kind are configured by. PATH and library paths count as such: without them the
// same command finds other programs there.
constexpr std::array<std::string_view, 12> kPrefixes = {"CUDA_",  "GLOO_", "HF_",   "KMP_",
                                                        "MKL_",   "NCCL_", "OMP_",  "PYTHON",
                                                        "TORCH_", "UCX_",  "DNNL_", "ONEDNN_"};
constexpr std::array<std::string_view, 2> kNames = {"PATH", "LD_LIBRARY_PATH"};
// Names devices of this machine, not of the others.
constexpr std::string_view kOwnDevices = "CUDA_VISIBLE_DEVICES";

bool has(const EnvList& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [name](const auto& variable) { return variable.first == name; });
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
  const std::string node_rank = std::to_string(place.node_rank);
  const Group& group = placement.groups[static_cast<std::size_t>(place.group)];
  return {{contract::kRank, std::to_string(rank)},
          {contract::kLocalRank, local},
          {contract::kWorldSize, std::to_string(placement.world_size())},
          {contract::kLocalWorldSize, locals},
          {contract::kNodeRank, node_rank},
          {contract::kGroupRank, node_rank},
          {contract::kCrossRank, node_rank},
          {contract::kCrossSize, std::to_string(placement.nodes.size())},
          {contract::kLocalSize, locals},
          {contract::kRoleName, group.name},
          {contract::kRoleRank, std::to_string(rank - group.first_rank)},
          {contract::kRoleWorldSize, std::to_string(group.ranks)}};
}

EnvList node_env(const Placement& placement, int node, const JobIdentity& job,
                 const NodeFacts& facts, const std::vector<std::string>& own_env,
                 const EnvList& forwarded) {
  EnvList variables;
  bool has_threads = has(forwarded, contract::kOmpNumThreads);
  for (const std::string& entry : own_env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = entry.substr(0, equals);
    if (name == contract::kOmpNumThreads) has_threads = true;
    if (!facts.local && is_forwarded_by_name(name) && !has(forwarded, name))
      variables.emplace_back(name, entry.substr(equals + 1));
  }
  if (!has_threads) {
    const auto ranks =
        static_cast<int>(placement.nodes[static_cast<std::size_t>(node)].ranks.size());
    variables.emplace_back(contract::kOmpNumThreads,
                           std::to_string(threads_per_rank(facts, ranks)));
  }
  variables.insert(variables.end(), forwarded.begin(), forwarded.end());
  variables.emplace_back(contract::kJobId, job_id_text(job.id));
  variables.emplace_back(contract::kJobKey, job.key);
  variables.emplace_back(contract::kEpoch, std::to_string(placement.epoch));
  variables.emplace_back(contract::kLiveProgress, job.live_progress ? "1" : "0");
  return variables;
}

int threads_per_rank(const NodeFacts& facts, int ranks) {
  std::uint32_t cores = facts.cores;
  if (facts.quota_milli > 0) cores = std::min(cores, std::max(facts.quota_milli / 1000, 1U));
  return std::max(static_cast<int>(cores) / std::max(ranks, 1), 1);
}

bool is_forwarded_by_name(const std::string& name) {
  if (name == kOwnDevices) return false;
  if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return true;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&name](std::string_view prefix) {
    return name.compare(0, prefix.size(), prefix) == 0;
  });
}

std::string master_address(const Placement& placement, const std::vector<bool>& node_is_local,
                           const std::vector<std::string>& first_node,
                           const std::string& root_side) {
  const bool all_local =
      std::all_of(node_is_local.begin(), node_is_local.end(), [](bool x) { return x; });
  if (placement.nodes.size() == 1 || all_local) return "127.0.0.1";
  if (node_is_local.front()) return root_side.empty() ? "127.0.0.1" : root_side;
  if (!first_node.empty() && !is_loopback(first_node.front())) return first_node.front();
  // Reached over loopback: fine if all others are reached so too, which `root_side` tells.
  if (!first_node.empty() && is_loopback(root_side)) return first_node.front();
  for (const std::string& address : first_node)
    if (!is_loopback(address)) return address;
  return placement.nodes.front().host.name;
}

std::string job_id_text(std::uint64_t id) { return fmt::format("{:016x}", id); }

}  // namespace ds::launcher
