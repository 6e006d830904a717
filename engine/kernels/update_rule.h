// The rule of an OptimizerUpdate (engine/optimizers/optimizers.h), the same for every backend.
#pragma once

#include "engine/kernels/kernels.h"
#include "engine/kernels/leaf.h"

namespace ds {

/// Returns the coefficients of an update of parameters with weight decay.
inline OptimizerRule rule_of(const OptimizerUpdate& a) { return rule_of(a.type, a.numbers); }

/// Asserts that the tensors of an update fit each other; a mismatch is a bug.
inline void require_fit(const OptimizerUpdate& a, std::int64_t n) {
  const auto is = [&](const Tensor& t, DType type) { return t.dtype == type && t.elements() == n; };
  DS_ASSERT(is(a.m, DType::f32) && a.grad.dtype == DType::f32);
  DS_ASSERT(!facts_of(a.type).two_moments || is(a.v, DType::f32));
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
