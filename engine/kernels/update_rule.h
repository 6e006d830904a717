// UpdateRule: the coefficients of an OptimizerUpdate for engine/optim, the same for every backend.
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/leaf_tree.h"
#include "engine/optim/adam_l2.h"
#include "engine/optim/adamw.h"
#include "engine/optim/lion.h"
#include "engine/optim/sgd.h"

namespace ds {

/// Coefficients of an optimizer update. Only those of `type` are used.
struct UpdateRule {
  using Type = OptimizerUpdate::Type;
  Type type = Type::adamw;
  AdamWCoefficients adamw{};
  AdamL2Coefficients adam_l2{};
  SgdCoefficients sgd{};
  LionCoefficients lion{};
};

inline UpdateRule rule_of(const OptimizerUpdate& a) {
  const AdamWHyper adam{.grad_scale = a.grad_scale,
                        .lr = a.lr,
                        .beta1 = a.beta1,
                        .beta2 = a.beta2,
                        .eps = a.eps,
                        .weight_decay = a.weight_decay,
                        .bias_correction1 = a.bias_correction1,
                        .bias_correction2 = a.bias_correction2};
  return {.type = a.type,
          .adamw = adamw_coefficients(adam),
          .adam_l2 = adam_l2_coefficients(adam),
          .sgd = sgd_coefficients({.grad_scale = a.grad_scale,
                                   .lr = a.lr,
                                   .momentum = a.momentum,
                                   .weight_decay = a.weight_decay,
                                   .nesterov = a.nesterov}),
          .lion = lion_coefficients({.grad_scale = a.grad_scale,
                                     .lr = a.lr,
                                     .beta1 = a.beta1,
                                     .beta2 = a.beta2,
                                     .weight_decay = a.weight_decay})};
}

/// Returns the rule of parameters without weight decay.
inline UpdateRule without_decay(const UpdateRule& rule) {
  return {.type = rule.type,
          .adamw = without_decay(rule.adamw),
          .adam_l2 = without_decay(rule.adam_l2),
          .sgd = without_decay(rule.sgd),
          .lion = without_decay(rule.lion)};
}

/// Asserts that the tensors of an update fit each other; a mismatch is a bug.
inline void require_fit(const OptimizerUpdate& a, std::int64_t n) {
  using Type = OptimizerUpdate::Type;
  const auto is = [&](const Tensor& t, DType type) { return t.dtype == type && t.elements() == n; };
  DS_ASSERT(is(a.m, DType::f32) && a.grad.dtype == DType::f32);
  const bool two_moments = a.type == Type::adamw || a.type == Type::adam_l2;
  DS_ASSERT(!two_moments || is(a.v, DType::f32));
  if (a.low) {
    DS_ASSERT(!a.master && is(a.low, DType::i16) && is(a.weights, DType::bf16));
  } else {
    DS_ASSERT(is(a.master, DType::f32) && (!a.weights || a.weights.elements() == n));
  }
  std::int64_t last = -1;
  for (const std::int64_t cut : a.decay_cuts) {
    DS_ASSERT(cut > last && cut < n && cut % kLeafElements == 0);
    last = cut;
  }
}

}  // namespace ds
