// Stochastic gradient descent with momentum; the same code for every backend.
#pragma once

#include <string_view>

#include "engine/optimizers/optimizer_numbers.h"

namespace ds {

/// The only moment, `m`, starts at 0. Source: Sutskever et al., On the importance of initialization
/// and momentum in deep learning (ICML 2013), in the form and order of operations of
/// torch.optim.SGD without dampening.
struct Sgd {
  static constexpr std::string_view kName = "sgd";
  static constexpr bool kTwoMoments = false;

  float grad_scale, negative_lr, momentum, weight_decay;
  bool nesterov;

  static Sgd from(const OptimizerNumbers& n) {
    return {.grad_scale = n.grad_scale,
            .negative_lr = -n.lr,
            .momentum = n.momentum,
            .weight_decay = n.weight_decay,
            .nesterov = n.nesterov};
  }
  [[nodiscard]] constexpr Sgd without_decay() const {
    Sgd row = *this;
    row.weight_decay = 0.0F;
    return row;
  }

  template <class Math, class Number>
  constexpr __attribute__((always_inline)) void update(Number grad, Number& weight, Number& m,
                                                       Number&) const {
    const Number rate = Math::broadcast(momentum);
    const Number g = Math::fma(weight, Math::broadcast(weight_decay),
                               Math::mul(grad, Math::broadcast(grad_scale)));
    m = Math::fma(m, rate, g);
    const Number direction = nesterov ? Math::fma(m, rate, g) : m;
    weight = Math::fma(Math::broadcast(negative_lr), direction, weight);
  }
};

}  // namespace ds
