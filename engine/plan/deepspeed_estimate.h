// DeepSpeed's memory estimators, for comparison with the plan.
//
// Source: deepspeed/runtime/zero/stage_1_and_2.py and stage3.py,
// estimate_zero*_model_states_mem_needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ds {

struct EstimateInput {
  double parameters = 0, largest_layer = 0;  // elements
  int nodes = 1, gpus_per_node = 1;
};

/// One line of the estimate; DeepSpeed leaves out activations, buffers, fragmentation and stage 1.
struct Estimate {
  int stage = 2;
  bool offload_optimizer = false, offload_param = false;
  bool zero_init = true;  // stage 3 only: parameters are created in slices
  double gpu_bytes = 0;   // per GPU
  double cpu_bytes = 0;   // per node
};

/// Returns stage 2 with and without offload, then stage 3 from most offload to none, each with and
/// without zero_init. Pure.
std::vector<Estimate> deepspeed_estimates(const EstimateInput& input);

}  // namespace ds
