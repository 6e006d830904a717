// UpdateNumbers: what the optimizer ops of one step read.
#pragma once

namespace ds {

/// The operands of one step's optimizer ops.
struct UpdateNumbers {
  bool skip = false;     // weights and moments stay unchanged
  double grad_norm = 0;  // of the mean loss, unscaled, before clipping
  float grad_scale = 1;  // unscales, divides by the tokens, clips
  float lr = 0, beta1 = 0, beta2 = 0, momentum = 0, eps = 0, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;
};

}  // namespace ds
