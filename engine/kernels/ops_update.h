// Optimizer ops: gradient norm, updates, initial weights. Letters as in kernels.h.
#pragma once

#include <cstdint>
#include <span>

#include "engine/optimizers/optimizers.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Leaves of the gradient norm: for every 1024 elements, the sum of squares in f64 in a fixed order
/// and the number of non-finite elements. Nothing is summed across leaves, so any split at leaves
/// gives the same bits. Shapes: in (n) f32; sums (ceil(n / 1024)) f64; non_finite (ceil(n / 1024))
/// i64.
struct LeafSquares {
  ConstTensor in;
  Tensor sums, non_finite;
};

/// One pass: unscale, clip, update in f32, cast. The arithmetic is in
/// engine/optimizers/optimizers.h; any cut of the parameters into ranges gives the same bits.
/// Shapes: grad, m, v (n) f32; v only with two moments. The f32 master is one of
///         master (n) f32, with weights (n) act made from it, or empty if they are the master
///         weights (n) bf16 and low (n) i16, no master: its bits are weights * 2^16 + low
///         decay_cuts: where weight decay stops and starts in turn, as ascending elements,
///         multiples of 1024: elements [0, cuts[0]) decay, [cuts[0], cuts[1]) do not; empty: all
///         decay. The memory must outlive the call.
/// Units:  g = grad * grad_scale; grad_scale = clip factor / (tokens * loss scale).
struct OptimizerUpdate {
  ConstTensor grad;
  Tensor master{}, m, v{}, weights{}, low{};
  OptimizerType type = OptimizerType::adamw;
  OptimizerNumbers numbers{};
  std::span<const std::int64_t> decay_cuts{};
};

/// Normal numbers by Philox keyed by (seed, key, element), independent of threads and sharding.
/// Shapes: out (n) f32; element i of `out` is element `first_element + i` of the logical tensor.
struct FillNormal {
  Tensor out;
  float mean = 0, standard_deviation = 1;
  std::uint64_t seed = 0, key = 0;
  std::int64_t first_element = 0;
};

}  // namespace ds
