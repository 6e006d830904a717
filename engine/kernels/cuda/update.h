// Launchers of the optimizer updates: plain pointers and coefficients.
#pragma once

#include "engine/kernels/cuda/launchers.h"
#include "engine/optimizers/optimizers.h"

namespace ds::cuda {

/// Most cuts of one launch. Even, so that what follows a launch's last cut decays.
inline constexpr int kMostDecayCuts = 24;

/// Where weight decay stops and starts in turn, as OptimizerUpdate::decay_cuts.
struct DecayCuts {
  std::int64_t at[kMostDecayCuts];
  int count = 0;
};

struct UpdateArrays {
  const float* grad;
  float *master, *m, *v;  // master: null if in two halves; v: only with two moments
  void* weights;          // of type `act`, made from the master; may be null
  std::uint16_t* low;     // lower half of a master in two halves; `weights` is the upper one
  std::int64_t n;
  Act act;
  DecayCuts cuts{};
};

cudaError_t launch_update(const Launch& l, const OptimizerRule& rule, const UpdateArrays& a);

}  // namespace ds::cuda
