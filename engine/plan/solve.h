// Which choices fit, which of them is the cheapest, and the error when the config's choice does not
// fit.
#pragma once

#include <optional>

#include "engine/plan/choices.h"
#include "engine/plan/job_plan.h"

namespace ds {

/// The memory that a job may use. An absent limit is unknown and never exceeded.
struct MemoryLimits {
  std::optional<std::int64_t> device{};     // of one rank
  std::optional<std::int64_t> host{};       // of one node; its ranks share it
  std::optional<std::int64_t> host_rank{};  // of one rank
  std::optional<std::int64_t> nvme{};       // of one node
  /// The device's memory is the node's (CPU backend), so it counts against `host` too.
  bool device_is_host = false;
};

/// Returns the limit that a plan exceeds: "91.2 GiB of device memory per rank, the limit is 80.0
/// GiB". Empty when the plan fits. Assumes `slots` ranks per node, all as heavy as `rank`.
std::string excess(const RankPlan& rank, const MemoryLimits& limits, int slots);

/// One row of the table of choices. Its plan is exact for the config's own choice, and that of
/// estimate_rank() for the others.
struct Candidate {
  Choice choice;
  ReduceOrder order = ReduceOrder::boundary;
  RankPlan plan;
  LowerBound bound;  // empty when no rate is known
  bool fits = true;
};

struct SolveRequest {
  const TrainConfig& config;
  Cluster cluster{};
  int rank = 0;             // the heaviest
  bool order_given = true;  // the config sets determinism.order, so stages keep it
  MemoryLimits limits{};
  Rates rates{};
};

/// Returns the same request for another config, which must outlive it.
SolveRequest with_config(const SolveRequest& request, const TrainConfig& config);

/// Returns every implemented choice in the order of all_choices(). Several threads call `build`.
std::vector<Candidate> plan_choices(const SolveRequest& request, const BuildRank& build);

/// Returns the candidate that fits and costs least, or null. The cost is the step's least time, one
/// part after the other, when rates are known. Ties and unknown rates: bytes over the slowest links
/// first (NVMe, then host memory, then network), then work, then device memory.
const Candidate* cheapest(const std::vector<Candidate>& candidates);

/// Returns the largest micro-batch whose plan fits, doubling the config's; the config's own where
/// no limit is known or nothing larger fits. Only a proposal, because it decides bits.
std::int64_t largest_micro(const SolveRequest& request, const BuildRank& build);

/// Formats what is too large, and the fewest changes that would fit.
Error does_not_fit(const SolveRequest& request, const RankPlan& heaviest, const BuildRank& build);

/// Refuses what the model's sizes alone exclude, before anything is planned: a plan of such sizes
/// can take minutes. Errors: Error{config}, as does_not_fit() with "at least", or the number of
/// tiles of offloaded states.
void require_possible(const SolveRequest& request, const BuildRank& build);

/// Throws does_not_fit() when the plan of request.rank exceeds the limits.
void require_fit(const SolveRequest& request, const BuildRank& build);

}  // namespace ds
