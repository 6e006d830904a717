// Stochastic gradient descent with momentum; the same code for every backend.
#pragma once

namespace ds {

struct SgdHyper {
  float grad_scale, lr, momentum, weight_decay;
  bool nesterov;
};

struct SgdCoefficients {
  float grad_scale, negative_lr, momentum, weight_decay;
  bool nesterov;
};

inline SgdCoefficients sgd_coefficients(const SgdHyper& h) {
  return {.grad_scale = h.grad_scale,
          .negative_lr = -h.lr,
          .momentum = h.momentum,
          .weight_decay = h.weight_decay,
          .nesterov = h.nesterov};
}

/// Returns the coefficients of parameters without weight decay.
constexpr SgdCoefficients without_decay(SgdCoefficients c) {
  c.weight_decay = 0.0F;
  return c;
}

/// Updates one element, or one vector of elements. `Math` as for adamw_element(). The only moment,
/// `m`, starts at 0. Source: Sutskever et al., On the importance of initialization and momentum in
/// deep learning (ICML 2013), in the form and order of operations of torch.optim.SGD without
/// dampening.
template <class Math, class Number>
constexpr __attribute__((always_inline)) void sgd_element(const SgdCoefficients& c, Number grad,
                                                          Number& weight, Number& m) {
  const Number momentum = Math::broadcast(c.momentum);
  const Number g = Math::fma(weight, Math::broadcast(c.weight_decay),
                             Math::mul(grad, Math::broadcast(c.grad_scale)));
  m = Math::fma(m, momentum, g);
  const Number direction = c.nesterov ? Math::fma(m, momentum, g) : m;
  weight = Math::fma(Math::broadcast(c.negative_lr), direction, weight);
}

}  // namespace ds
