// AdamW; the same code for every backend, so that offloading the optimizer does not change a bit.
#pragma once

#include <cmath>
#include <string_view>

#include "engine/optimizers/optimizer_numbers.h"

namespace ds {

/// Source: Loshchilov and Hutter, arXiv:1711.05101, in the order of operations of
/// torch.optim.AdamW.
struct AdamW {
  static constexpr std::string_view kName = "adamw";
  static constexpr bool kTwoMoments = true;

  float grad_scale, one_minus_beta1, beta2, one_minus_beta2, eps;
  float decay;                     // 1 - lr * weight_decay
  float negative_step;             // -lr / (1 - beta1^t)
  float inverse_sqrt_correction2;  // 1 / sqrt(1 - beta2^t)

  static AdamW from(const OptimizerNumbers& n) {
    return {.grad_scale = n.grad_scale,
            .one_minus_beta1 = 1.0F - n.beta1,
            .beta2 = n.beta2,
            .one_minus_beta2 = 1.0F - n.beta2,
            .eps = n.eps,
            .decay = 1.0F - n.lr * n.weight_decay,
            .negative_step = -(n.lr / n.bias_correction1),
            .inverse_sqrt_correction2 = 1.0F / std::sqrt(n.bias_correction2)};
  }
  [[nodiscard]] constexpr AdamW without_decay() const {
    AdamW row = *this;
    row.decay = 1.0F;
    return row;
  }

  template <class Math, class Number>
  constexpr __attribute__((always_inline)) void update(Number grad, Number& weight, Number& m,
                                                       Number& v) const {
    update_by<Math>(Math::mul(grad, Math::broadcast(grad_scale)), weight, m, v);
  }

  /// Updates from the unscaled gradient `g`; shared with Adam-L2 (adam_l2.h).
  template <class Math, class Number>
  constexpr __attribute__((always_inline)) void update_by(Number g, Number& weight, Number& m,
                                                          Number& v) const {
    m = Math::fma(Math::sub(g, m), Math::broadcast(one_minus_beta1), m);
    v = Math::fma(Math::mul(g, Math::broadcast(one_minus_beta2)), g,
                  Math::mul(v, Math::broadcast(beta2)));
    const Number root = Math::sqrt(v);
    const Number denominator =
        Math::fma(root, Math::broadcast(inverse_sqrt_correction2), Math::broadcast(eps));
    weight = Math::fma(Math::broadcast(negative_step), Math::div(m, denominator),
                       Math::mul(weight, Math::broadcast(decay)));
  }
};

/// Math of one float on the host.
struct ScalarMath {
  static float broadcast(float x) { return x; }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float mul(float a, float b) { return a * b; }
  static float sub(float a, float b) { return a - b; }
  static float div(float a, float b) { return a / b; }
  static float sqrt(float a) { return std::sqrt(a); }
  static float sign(float a) { return static_cast<float>(a > 0.0F) - static_cast<float>(a < 0.0F); }
};

}  // namespace ds
