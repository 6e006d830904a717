// Lion; the same code for every backend.
#pragma once

#include <string_view>

#include "engine/optimizers/optimizer_numbers.h"

namespace ds {

/// The only moment, `m`, starts at 0. Source: Chen et al., arXiv:2302.06675.
struct Lion {
  static constexpr std::string_view kName = "lion";
  static constexpr bool kTwoMoments = false;

  float grad_scale, one_minus_beta1, one_minus_beta2, negative_lr;
  float decay;  // 1 - lr * weight_decay

  static Lion from(const OptimizerNumbers& n) {
    return {.grad_scale = n.grad_scale,
            .one_minus_beta1 = 1.0F - n.beta1,
            .one_minus_beta2 = 1.0F - n.beta2,
            .negative_lr = -n.lr,
            .decay = 1.0F - n.lr * n.weight_decay};
  }
  [[nodiscard]] constexpr Lion without_decay() const {
    Lion row = *this;
    row.decay = 1.0F;
    return row;
  }

  template <class Math, class Number>
  constexpr __attribute__((always_inline)) void update(Number grad, Number& weight, Number& m,
                                                       Number&) const {
    const Number away = Math::sub(Math::mul(grad, Math::broadcast(grad_scale)), m);
    const Number direction = Math::sign(Math::fma(away, Math::broadcast(one_minus_beta1), m));
    m = Math::fma(away, Math::broadcast(one_minus_beta2), m);
    weight = Math::fma(Math::broadcast(negative_lr), direction,
                       Math::mul(weight, Math::broadcast(decay)));
  }
};

}  // namespace ds
