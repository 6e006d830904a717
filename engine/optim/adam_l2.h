// Adam with weight decay in the gradient; the same code for every backend.
#pragma once

#include "engine/optim/adamw.h"

namespace ds {

struct AdamL2Coefficients {
  AdamWCoefficients adam;  // decay = 1
  float weight_decay;
};

inline AdamL2Coefficients adam_l2_coefficients(AdamWHyper h) {
  const float weight_decay = h.weight_decay;
  h.weight_decay = 0.0F;
  return {.adam = adamw_coefficients(h), .weight_decay = weight_decay};
}

/// Returns the coefficients of parameters without weight decay.
constexpr AdamL2Coefficients without_decay(AdamL2Coefficients c) {
  c.weight_decay = 0.0F;
  return c;
}

/// Updates like adamw_element(), with gradient + weight_decay * weight as the gradient. Source:
/// Kingma and Ba, arXiv:1412.6980, in the order of operations of torch.optim.Adam.
template <class Math, class Number>
constexpr __attribute__((always_inline)) void adam_l2_element(const AdamL2Coefficients& c,
                                                              Number grad, Number& weight,
                                                              Number& m, Number& v) {
  const Number g = Math::fma(weight, Math::broadcast(c.weight_decay),
                             Math::mul(grad, Math::broadcast(c.adam.grad_scale)));
  adam_update<Math>(c.adam, g, weight, m, v);
}

}  // namespace ds
