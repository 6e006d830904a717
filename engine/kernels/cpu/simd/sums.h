// Sums of squares of the gradient norm's leaves, and sums of parts.
#pragma once

#include "engine/kernels/cpu/simd/rows.h"

namespace ds::DS_LANES {

/// Returns the sum of squares of a leaf in f64. Lane i sums elements i, i + 16, ...; then lane i
/// adds lanes i + 8, i + 4, i + 2, i + 1. Adds the number of non-finite elements to *non_finite.
inline double square_leaf(const float* in, int64_t n, int64_t* non_finite) {
  F64 total = zero_f64();
  F32 bad = broadcast(0.0F);
  each(n, [&](auto get, auto) {
    const F32 x = get(in);
    total = add_squares(total, x);
    const F32 zero_or_nan = x - x;  // 0 for finite numbers
    bad = bad + from_bits(select_nan(zero_or_nan, bits_of(broadcast(1.0F)), broadcast(0U)));
  });
  alignas(64) double lanes[16];
  store(lanes, total);
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  *non_finite += static_cast<int64_t>(sum(bad));
  return lanes[0];
}

inline void sum_parts(const float* in, int64_t parts, int64_t n, int64_t first, int64_t count,
                      float* out, bool accumulate) {
  each(count, [&](auto get, auto put) {
    F32 total = get(in + first);
    for (int64_t part = 1; part < parts; ++part) total = total + get(in + part * n + first);
    put(out + first, accumulate ? get(static_cast<const float*>(out + first)) + total : total);
  });
}

}  // namespace ds::DS_LANES
