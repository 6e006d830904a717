// The words of `dsrunner plan`.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/solve.h"

namespace ds {

struct PlanOptions {
  Cluster cluster;
  MemoryLimits limits;
  Rates rates;
  bool measure = false, json = false, deepspeed_estimate = false;
  std::string print;  // a pass, or "config"; empty: the plan
  int rank = 0;       // whose program `print` shows
  std::string config;
  std::vector<std::string> overrides;
};

/// Words after "plan": --NAME=VALUE or --NAME VALUE, then the train.toml and key=value.
/// Errors: Error{usage} naming the option and the accepted form.
PlanOptions parse_plan_options(const std::vector<std::string>& words);

}  // namespace ds
