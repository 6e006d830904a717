// AdamW; the same code for every backend, so that offloading the optimizer does not change a bit.
#pragma once

#include <cmath>

namespace ds {

/// The values shared by all elements of one step, made on the host by adamw_coefficients().
struct AdamWCoefficients {
  float grad_scale, one_minus_beta1, beta2, one_minus_beta2, eps;
  float decay;                     // 1 - lr * weight_decay
  float negative_step;             // -lr / (1 - beta1^t)
  float inverse_sqrt_correction2;  // 1 / sqrt(1 - beta2^t)
};

struct AdamWHyper {
  float grad_scale, lr, beta1, beta2, eps, weight_decay, bias_correction1, bias_correction2;
};

inline AdamWCoefficients adamw_coefficients(const AdamWHyper& h) {
  return {.grad_scale = h.grad_scale,
          .one_minus_beta1 = 1.0F - h.beta1,
          .beta2 = h.beta2,
          .one_minus_beta2 = 1.0F - h.beta2,
          .eps = h.eps,
          .decay = 1.0F - h.lr * h.weight_decay,
          .negative_step = -(h.lr / h.bias_correction1),
          .inverse_sqrt_correction2 = 1.0F / std::sqrt(h.bias_correction2)};
}

/// Returns the coefficients of parameters without weight decay.
constexpr AdamWCoefficients without_decay(AdamWCoefficients c) {
  c.decay = 1.0F;
  return c;
}

/// Updates from an unscaled gradient; shared with Adam-L2 (adam_l2.h).
template <class Math, class Number>
constexpr __attribute__((always_inline)) void adam_update(const AdamWCoefficients& c, Number g,
                                                          Number& weight, Number& m, Number& v) {
  m = Math::fma(Math::sub(g, m), Math::broadcast(c.one_minus_beta1), m);
  v = Math::fma(Math::mul(g, Math::broadcast(c.one_minus_beta2)), g,
                Math::mul(v, Math::broadcast(c.beta2)));
  const Number root = Math::sqrt(v);
  const Number denominator =
      Math::fma(root, Math::broadcast(c.inverse_sqrt_correction2), Math::broadcast(c.eps));
  weight = Math::fma(Math::broadcast(c.negative_step), Math::div(m, denominator),
                     Math::mul(weight, Math::broadcast(c.decay)));
}

/// Updates one element, or one vector of elements. `Math` gives broadcast(float), fma(a, b, c),
/// mul, sub, div and sqrt, each correctly rounded, so that every width and device gives the same
/// bits. Source: Loshchilov and Hutter, arXiv:1711.05101, in the order of operations of
/// torch.optim.AdamW.
template <class Math, class Number>
constexpr __attribute__((always_inline)) void adamw_element(const AdamWCoefficients& c, Number grad,
                                                            Number& weight, Number& m, Number& v) {
  adam_update<Math>(c, Math::mul(grad, Math::broadcast(c.grad_scale)), weight, m, v);
}

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
