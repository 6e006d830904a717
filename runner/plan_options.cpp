#include "runner/plan_options.h"

#include "engine/base/tool_options.h"

namespace ds {

PlanOptions parse_plan_options(const std::vector<std::string>& words) {
  const ToolWords read("plan", words);
  if (read.others.empty())
    throw Error(ErrorKind::usage, "no train.toml given",
                "dsrunner plan [options] train.toml [key=value ...]");
  PlanOptions options;
  options.cluster.nodes = static_cast<int>(read.number("--nodes", 1));
  options.cluster.slots = static_cast<int>(read.number("--slots", 1));
  if (read.has("--device-memory")) options.limits.device = read.bytes("--device-memory");
  if (read.has("--host-memory")) options.limits.host = read.bytes("--host-memory");
  if (read.has("--rates")) options.rates = parse_rates(read.value("--rates"));
  options.measure = read.has("--measure");
  options.json = read.has("--json");
  options.deepspeed_estimate = read.has("--deepspeed-estimate");
  options.print = read.value("--print");
  options.rank = static_cast<int>(read.number("--rank"));
  options.config = read.others.front();
  options.overrides.assign(read.others.begin() + 1, read.others.end());
  if (options.rank >= options.cluster.world_size())
    throw Error(ErrorKind::usage, fmt::format("--rank {} is out of range (0 to {})", options.rank,
                                              options.cluster.world_size() - 1));
  return options;
}

}  // namespace ds
