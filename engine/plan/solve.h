// Which choices fit, which of them is the cheapest, and what is said when the config's does not.
#pragma once

#include <optional>

#include "engine/plan/choices.h"
#include "engine/plan/job_plan.h"

namespace ds {

/// What a job may take. Absent: nobody knows, so everything fits.
struct MemoryLimits {
  std::optional<std::int64_t> device{};     // of one rank
  std::optional<std::int64_t> host{};       // of one node; its ranks share it
  std::optional<std::int64_t> host_rank{};  // of one rank
  std::optional<std::int64_t> nvme{};       // of one node
  /// The device's memory is the node's (CPU backend): it counts against `host` too.
  bool device_is_host = false;
};

/// What of the limits a plan breaks: "91.2 GiB of device memory, the limit is 80.0 GiB". Empty: it
/// fits. `slots` ranks on a node as heavy as `rank`.
std::string excess(const RankPlan& rank, const MemoryLimits& limits, int slots);

/// One row of the table of choices.
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
  bool order_given = true;  // determinism.order stands in the config, so that stages keep it
  MemoryLimits limits{};
  Rates rates{};
};

/// The same request about another config, which must outlive it.
SolveRequest with_config(const SolveRequest& request, const TrainConfig& config);

/// Every choice that is built, side by side, in the order of all_choices().
std::vector<Candidate> plan_choices(const SolveRequest& request, const BuildRank& build);

/// The candidate that fits and costs least, or null. Cost: the step's least time, one part after
/// the other, when rates are known; ties and unknown rates: bytes moved over the slowest links
/// first (NVMe, then host memory, then network), then work, then device memory.
const Candidate* cheapest(const std::vector<Candidate>& candidates);

/// The largest micro-batch, the config's doubled again and again, whose plan stays within the
/// limits; the config's own where no limit is known or nothing more fits. A proposal only: it
/// decides bits.
std::int64_t largest_micro(const SolveRequest& request, const BuildRank& build);

/// For people: what is too large, and which fewest changes would fit.
Error does_not_fit(const SolveRequest& request, const RankPlan& heaviest, const BuildRank& build);

/// Errors: does_not_fit() when the plan of request.rank is more than the limits allow.
void require_fit(const SolveRequest& request, const BuildRank& build);

}  // namespace ds
