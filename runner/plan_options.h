// Options of `dsrunner plan` and their parser.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/solve.h"

namespace ds {

struct PlanOptions {
  Cluster cluster;      // the largest, if there are several sizes
  int least_nodes = 0;  // of an elastic job; 0: the number of nodes does not change
  MemoryLimits limits;
  Rates rates;
  bool measure = false, json = false, deepspeed_estimate = false;
  std::string print;  // name of a pass, or "config"; empty: print the plan
  int rank = 0;       // rank whose program `print` shows
  std::string config;
  std::vector<std::string> overrides;
};

/// Parses the words after "plan": --NAME=VALUE or --NAME VALUE, then the train.toml and key=value.
/// Errors: Error{usage} with the option and its accepted form.
PlanOptions parse_plan_options(const std::vector<std::string>& words);

}  // namespace ds
