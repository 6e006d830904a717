// plan_rank(): turns built programs into figures.
#include "engine/plan/job_plan.h"

#include <algorithm>
#include <tuple>

#include "engine/keep/buddies.h"
#include "engine/plan/work.h"

namespace ds {
namespace {

constexpr int kAllRanksUpTo = 16;
constexpr std::string_view kKept = "kept states";

/// Returns the share of the tokens that have a target, as far as it is known without the data.
double target_share(const DataConfig& data) {
  return data.format != "samples" && data.task == DataTask::masked ? data.mask : 1.0;
}

TierBytes bytes_of(const PlacementPlan& placement, Tier tier) {
  const TierPlan& plan = placement.of(tier);
  TierBytes made{.tier = tier, .classes = {}, .total = plan.total_bytes + plan.kept_bytes};
  for (const auto& entry : plan.classes)
    if (entry.second != 0) made.classes.push_back(entry);
  return made;
}

/// Replaces the bytes of kept states, which assume that a ward's slots are as large as the own
/// ones, by those of the rank's own ward. `plans` has all ranks.
void count_wards(std::vector<RankPlan>& plans, int slots) {
  std::vector<int> nodes;
  std::vector<std::int64_t> kept;  // by rank: its own two slots
  for (const RankPlan& plan : plans) {
    nodes.push_back(plan.rank / slots);
    kept.push_back(plan.of_class(kKept) / 2);
  }
  const std::vector<int> wards = wards_of(buddies_of(nodes));
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const int ward = wards[rank];
    const std::int64_t of_ward = ward == kNoBuddy ? 0 : kept[static_cast<std::size_t>(ward)];
    for (TierBytes& tier : plans[rank].tiers) {
      for (auto& [name, bytes] : tier.classes) {
        if (name != kKept) continue;
        tier.total += of_ward - kept[rank];
        bytes += of_ward - kept[rank];
      }
    }
  }
}

}  // namespace

std::string_view name_of(Tier tier) {
  constexpr std::array<std::string_view, kTiers> kNames{"device", "pinned host", "host", "nvme"};
  return kNames[static_cast<std::size_t>(tier)];
}

std::int64_t RankPlan::of_class(std::string_view name) const {
  std::int64_t sum = 0;
  for (const TierBytes& tier : tiers)
    for (const auto& [of, bytes] : tier.classes)
      if (of == name) sum += bytes;
  return sum;
}

RankPlan plan_rank(const TrainConfig& config, const Cluster& cluster, int rank,
                   const BuildRank& build) {
  const BuiltRank built = build(config, rank, cluster.world_size());
  const double share = target_share(config.data);
  RankPlan plan{.rank = rank,
                .tiers = {},
                .work = {},
                .parameters = trained_count(built.step),
                .flops_per_token = built.flops_per_token + share * built.flops_per_target};
  for (std::size_t tier = 0; tier < kTiers; ++tier)
    plan.tiers[tier] = bytes_of(built.placement, static_cast<Tier>(tier));
  plan.work = {.flops = flops_of(built.step, share),
               .traffic = traffic_of(built.step, built.spec, cluster.slots)};
  return plan;
}

std::vector<RankPlan> plan_ranks(const TrainConfig& config, const Cluster& cluster,
                                 const BuildRank& build) {
  const int world = cluster.world_size();
  std::vector<int> ranks;
  if (world <= kAllRanksUpTo) {
    for (int rank = 0; rank < world; ++rank) ranks.push_back(rank);
  } else {
    ranks = {0, world / 2, world - 1};
  }
  std::vector<RankPlan> plans;
  for (const int rank : ranks) plans.push_back(plan_rank(config, cluster, rank, build));
  if (config.elastic.has_buddies && world <= kAllRanksUpTo) count_wards(plans, cluster.slots);
  return plans;
}

const RankPlan& heaviest(const std::vector<RankPlan>& ranks) {
  const auto lighter = [](const RankPlan& a, const RankPlan& b) {
    return std::tuple(a.device_bytes(), a.host_bytes(), a.nvme_bytes()) <
           std::tuple(b.device_bytes(), b.host_bytes(), b.nvme_bytes());
  };
  return *std::max_element(ranks.begin(), ranks.end(), lighter);
}

}  // namespace ds
