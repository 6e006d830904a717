// DeepSpeed's formulas, including its factor of 1.5 for host memory.
#include "engine/plan/deepspeed_estimate.h"

#include <algorithm>

namespace ds {
namespace {

constexpr double kHostFactor = 1.5;

Estimate zero2(const EstimateInput& in, bool offload) {
  const double all_gpus = in.nodes * in.gpus_per_node;
  Estimate made{.stage = 2, .offload_optimizer = offload};
  if (offload) {
    made.gpu_bytes = 2 * in.parameters;
    made.cpu_bytes = in.parameters * std::max(4 * all_gpus, 16.0) * kHostFactor;
  } else {
    made.gpu_bytes = 2 * in.parameters + 18 * in.parameters / all_gpus;
    made.cpu_bytes = 4 * in.parameters * in.gpus_per_node * kHostFactor;
  }
  return made;
}

Estimate zero3(const EstimateInput& in, bool optimizer, bool param, bool zero_init) {
  const double all_gpus = in.nodes * in.gpus_per_node;
  const double gathered = 4 * in.largest_layer;
  Estimate made{
      .stage = 3, .offload_optimizer = optimizer, .offload_param = param, .zero_init = zero_init};
  if (!optimizer) {
    made.gpu_bytes = gathered + 18 * in.parameters / all_gpus;
    made.cpu_bytes = (zero_init ? in.largest_layer : in.parameters) * 4 * in.gpus_per_node;
  } else {
    const double held = (param ? 18.0 : 16.0) / in.nodes;  // bytes per parameter on each node
    made.gpu_bytes = gathered + (param ? 0.0 : 2 * in.parameters / all_gpus);
    made.cpu_bytes = in.parameters * (zero_init ? held : std::max(4.0 * in.gpus_per_node, held));
  }
  made.cpu_bytes *= kHostFactor;
  return made;
}

}  // namespace

std::vector<Estimate> deepspeed_estimates(const EstimateInput& input) {
  std::vector<Estimate> all{zero2(input, true), zero2(input, false)};
  for (const auto& [optimizer, param] : {std::pair{true, true}, {true, false}, {false, false}}) {
    for (const bool zero_init : {true, false})
      all.push_back(zero3(input, optimizer, param, zero_init));
  }
  return all;
}

}  // namespace ds
