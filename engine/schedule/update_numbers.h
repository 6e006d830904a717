// UpdateNumbers: what the optimizer ops of one step read.
#pragma once

#include "engine/optimizers/optimizer_numbers.h"

namespace ds {

/// The operands of one step's optimizer ops.
struct UpdateNumbers {
  bool skip = false;     // weights and moments stay unchanged
  double grad_norm = 0;  // of the mean loss, unscaled, before clipping
  OptimizerNumbers numbers{};
};

}  // namespace ds
