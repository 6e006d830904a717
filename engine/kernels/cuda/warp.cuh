// Sums over the lanes of a warp in one fixed order.
#pragma once

#include <cuda_runtime.h>

namespace ds::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

/// Returns the same bits in every lane: adds lanes i and i ^ 16, then 8, 4, 2, 1.
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, distance);
  }
  return x;
}

}  // namespace ds::cuda
