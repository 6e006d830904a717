// Lion; the same code for every backend.
#pragma once

namespace ds {

struct LionHyper {
  float grad_scale, lr, beta1, beta2, weight_decay;
};

struct LionCoefficients {
  float grad_scale, one_minus_beta1, one_minus_beta2, negative_lr;
  float decay;  // 1 - lr * weight_decay
};

inline LionCoefficients lion_coefficients(const LionHyper& h) {
  return {.grad_scale = h.grad_scale,
          .one_minus_beta1 = 1.0F - h.beta1,
          .one_minus_beta2 = 1.0F - h.beta2,
          .negative_lr = -h.lr,
          .decay = 1.0F - h.lr * h.weight_decay};
}

/// Returns the coefficients of parameters without weight decay.
constexpr LionCoefficients without_decay(LionCoefficients c) {
  c.decay = 1.0F;
  return c;
}

/// Updates one element, or one vector of elements. `Math` as for adamw_element(), with sign(a): 1,
/// 0 or -1. The only moment, `m`, starts at 0. Source: Chen et al., arXiv:2302.06675.
template <class Math, class Number>
constexpr __attribute__((always_inline)) void lion_element(const LionCoefficients& c, Number grad,
                                                           Number& weight, Number& m) {
  const Number away = Math::sub(Math::mul(grad, Math::broadcast(c.grad_scale)), m);
  const Number direction = Math::sign(Math::fma(away, Math::broadcast(c.one_minus_beta1), m));
  m = Math::fma(away, Math::broadcast(c.one_minus_beta2), m);
  weight = Math::fma(Math::broadcast(c.negative_lr), direction,
                     Math::mul(weight, Math::broadcast(c.decay)));
}

}  // namespace ds
