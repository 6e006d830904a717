// PlanReport: a plan as text and as JSON.
#pragma once

#include <string>

#include "engine/plan/deepspeed_estimate.h"
#include "engine/plan/solve.h"

namespace ds {

/// What an elastic job needs at one of its sizes.
struct PlanSize {
  int nodes = 1, ranks = 1;
  double efficiency = 1;  // part of the time that ranks compute: some have more virtual ranks
  RankPlan most{};        // of the rank that needs the most
  std::string excess{};   // as excess(): empty if it fits
};

/// Everything that `dslaunch plan` shows.
struct PlanReport {
  const SolveRequest& request;
  std::string name;         // "gpt2_124m.toml"
  std::string limits_from;  // where the limits come from; empty without limits
  std::string device;  // the device that scratch is sized for: "CPU, 2 threads, AVX-512 + bf16"
  bool auto_chosen = false;  // the request's config had values "auto"
  double parameters = 0;
  std::vector<RankPlan> ranks;
  /// The heaviest rank's plan in both orders of reduction: {name, plan}.
  std::vector<std::pair<std::string, RankPlan>> orders;
  std::vector<Candidate> candidates;
  std::int64_t largest_micro = 0;   // the largest that fits
  std::vector<PlanSize> sizes{};    // empty: the number of nodes does not change
  std::vector<Estimate> estimates;  // empty: not requested
  double largest_layer = 0;         // the layer that the estimates use
};

std::string plan_text(const PlanReport& report);
std::string plan_json(const PlanReport& report);

}  // namespace ds
