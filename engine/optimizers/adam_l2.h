// Adam with weight decay in the gradient; the same code for every backend.
#pragma once

#include "engine/optimizers/adamw.h"

namespace ds {

/// AdamW without decay, with gradient + weight_decay * weight as the gradient. Source: Kingma and
/// Ba, arXiv:1412.6980, in the order of operations of torch.optim.Adam.
struct AdamL2 {
  static constexpr std::string_view kName = "adam_l2";
  static constexpr bool kTwoMoments = true;

  AdamW adam;
  float weight_decay;

  static AdamL2 from(const OptimizerNumbers& n) {
    return {.adam = AdamW::from(n).without_decay(), .weight_decay = n.weight_decay};
  }
  [[nodiscard]] constexpr AdamL2 without_decay() const { return {adam, 0.0F}; }

  template <class Math, class Number>
  constexpr __attribute__((always_inline)) void update(Number grad, Number& weight, Number& m,
                                                       Number& v) const {
    const Number g = Math::fma(weight, Math::broadcast(weight_decay),
                               Math::mul(grad, Math::broadcast(adam.grad_scale)));
    adam.update_by<Math>(g, weight, m, v);
  }
};

}  // namespace ds
