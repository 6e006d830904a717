// RankPlan: what a job needs, from the programs that it would run: bytes by tier, traffic, work.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/plan/rates.h"
#include "engine/program/freeze.h"

namespace ds {

/// The number of ranks and their distribution over nodes.
struct Cluster {
  int nodes = 1, slots = 1;
  int ranks = 0;  // fewer than nodes * slots where the last node is not full; 0: nodes * slots
  [[nodiscard]] int world_size() const { return ranks > 0 ? ranks : nodes * slots; }
};

/// What the trainer builds for one rank.
struct BuiltRank {
  Program step;
  ShardSpec spec;
  PlacementPlan placement;
  double flops_per_token = 0, flops_per_target = 0;  // as in TrainPrograms
};
/// Errors: Error{config}, as make_programs() (engine/train/programs.h).
using BuildRank = std::function<BuiltRank(const TrainConfig& config, int rank, int world_size)>;

/// Bytes of one tier by class; empty classes are left out.
struct TierBytes {
  Tier tier = Tier::device;
  std::vector<std::pair<std::string, std::int64_t>> classes;
  std::int64_t total = 0;
};

std::string_view name_of(Tier tier);

struct RankPlan {
  int rank = 0;
  std::array<TierBytes, kTiers> tiers;  // in the order of Tier
  StepWork work;
  TrainedCount parameters;     // of the whole model
  double flops_per_token = 0;  // of a training step, recomputation not counted

  /// Returns the bytes of a class over all tiers; 0: there is none.
  [[nodiscard]] std::int64_t of_class(std::string_view name) const;
  [[nodiscard]] std::int64_t device_bytes() const { return bytes(Tier::device); }
  [[nodiscard]] std::int64_t host_bytes() const {
    return bytes(Tier::pinned_host) + bytes(Tier::host);
  }
  [[nodiscard]] std::int64_t nvme_bytes() const { return bytes(Tier::nvme); }
  [[nodiscard]] std::int64_t bytes(Tier tier) const {
    return tiers[static_cast<std::size_t>(tier)].total;
  }
};

RankPlan plan_rank(const TrainConfig& config, const Cluster& cluster, int rank,
                   const BuildRank& build);

/// batch.accum up to which estimate_rank() is plan_rank().
inline constexpr std::int64_t kExactAccum = 8;

/// As plan_rank(), but its time does not grow with batch.accum: extends a line through two plans of
/// fewer micro-batches. All micro-batches but the first and the last run the same ops, so work and
/// traffic are exact. Bytes may differ by the holes between values.
RankPlan estimate_rank(const TrainConfig& config, const Cluster& cluster, int rank,
                       const BuildRank& build);

/// Plans all ranks of a small job; of a large one the first, the middle and the last. Ranks differ
/// in the number of their virtual ranks and in the lengths of their slices.
std::vector<RankPlan> plan_ranks(const TrainConfig& config, const Cluster& cluster,
                                 const BuildRank& build);

/// Returns the plan with the most bytes on the device, then on the host.
const RankPlan& heaviest(const std::vector<RankPlan>& ranks);

}  // namespace ds
