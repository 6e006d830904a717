// GELU with tanh, its slope, and SiLU, with the CPU's formulas.
#pragma once

#include <cuda_runtime.h>

namespace ds::cuda {

/// Returns 1 / (1 + e^-x); 0 and 1 at the ends.
__device__ inline float sigmoid(float x) { return __fdividef(1.0F, 1.0F + expf(-x)); }

/// Returns x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), since tanh(u) = 2 sigmoid(2u) - 1.
__device__ inline float gelu(float x) {
  return x * sigmoid(x * fmaf(x * x, 0.0713548163F, 1.59576912F));
}
__device__ inline float gelu_slope(float x) {
  const float squared = x * x;
  const float s = sigmoid(x * fmaf(squared, 0.0713548163F, 1.59576912F));
  return fmaf(x * fmaf(squared, 0.214064449F, 1.59576912F), s * (1.0F - s), s);
}

}  // namespace ds::cuda
