// least_plan(): what a choice needs at least, from the number of the model's parameters.
#pragma once

#include "engine/plan/job_plan.h"

namespace ds {

/// Returns totals that no plan of this config undercuts: the weights, master weights and moments of
/// a rank, and the largest block with its gradients, which the device holds whole. Activations do
/// not count. Takes no time, unlike plan_rank(), whose time grows with the number of ops and tiles.
/// Totals are at most kMostBytes.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
RankPlan least_plan(const TrainConfig& config, const Cluster& cluster);

}  // namespace ds
