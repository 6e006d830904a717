// OptimizerNumbers: the hyper-parameters of one step, from which every optimizer takes what it
// needs.
#pragma once

namespace ds {

struct OptimizerNumbers {
  float grad_scale = 1;  // unscales, divides by the tokens, clips
  float lr = 0, beta1 = 0.9F, beta2 = 0.999F, eps = 1e-8F, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^t, computed on rank 0
  float momentum = 0;                                // sgd
  bool nesterov = false;                             // sgd
  friend bool operator==(const OptimizerNumbers&, const OptimizerNumbers&) = default;
};

}  // namespace ds
