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
constexpr std::string_view kInputs = "inputs";  // the only class that grows with batch.accum
constexpr std::int64_t kHalf = kExactAccum / 2;
constexpr std::int64_t Traffic::*kTraffic[] = {
    &Traffic::sent_in_node,        &Traffic::sent_to_nodes, &Traffic::received_in_node,
    &Traffic::received_from_nodes, &Traffic::to_host,       &Traffic::to_device,
    &Traffic::nvme_read,           &Traffic::nvme_written,  &Traffic::optimizer_device,
    &Traffic::optimizer_host};

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

TrainConfig with_accum(TrainConfig config, std::int64_t accum) {
  config.batch.global = config.batch.global / config.batch.accum * accum;
  config.batch.accum = accum;
  return config;
}

std::int64_t input_bytes(const TierBytes& tier) {
  for (const auto& [name, bytes] : tier.classes)
    if (name == kInputs) return bytes;
  return 0;
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

RankPlan estimate_rank(const TrainConfig& config, const Cluster& cluster, int rank,
                       const BuildRank& build) {
  if (config.batch.accum <= kExactAccum) return plan_rank(config, cluster, rank, build);
  const RankPlan half = plan_rank(with_accum(config, kHalf), cluster, rank, build);
  RankPlan plan = plan_rank(with_accum(config, kExactAccum), cluster, rank, build);
  const std::int64_t more = config.batch.accum - kExactAccum;
  const auto growth = [&](std::int64_t from, std::int64_t to) {
    return (to - from) * more / kHalf;
  };
  plan.work.flops += (plan.work.flops - half.work.flops) / kHalf * static_cast<double>(more);
  for (std::int64_t Traffic::*const moved : kTraffic)
    plan.work.traffic.*moved += growth(half.work.traffic.*moved, plan.work.traffic.*moved);
  for (std::size_t at = 0; at < kTiers; ++at) {
    TierBytes& tier = plan.tiers[at];
    const std::int64_t inputs = growth(input_bytes(half.tiers[at]), input_bytes(tier));
    tier.total += inputs;
    for (auto& [name, bytes] : tier.classes)
      if (name == kInputs) bytes += inputs;
  }
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
