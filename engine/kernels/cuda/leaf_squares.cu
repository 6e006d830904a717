// Sums of squares of leaves of 1024 elements, with the bits of the CPU
// (engine/kernels/cpu/simd/sums.h).
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/warp.cuh"
#include "engine/kernels/leaf.h"

namespace ds::cuda {
namespace {

constexpr int kLanes = 16;  // sums of a leaf: lane i adds elements i, i + 16, ...
constexpr int kSteps = static_cast<int>(kLeafElements) / kLanes;
constexpr int kLeafThreads = 256, kLeavesAtOnce = kLeafThreads / kLanes;

struct Leaf {
  double sum;
  int non_finite;
};

/// All sixteen lanes of a leaf must call together with their warp. Every lane returns the leaf's
/// sum.
__device__ Leaf square_leaf(const float* in, std::int64_t count, int lane) {
  double total = 0;
  int bad = 0;
  const auto add = [&](float x) {
    total = fma(static_cast<double>(x), static_cast<double>(x), total);
    bad += x - x == 0.0F ? 0 : 1;
  };
  if (count >= kLeafElements) {
#pragma unroll 16
    for (int i = 0; i < kSteps; ++i) add(in[i * kLanes + lane]);
  } else {
    for (int i = lane; i < count; i += kLanes) add(in[i]);
  }
#pragma unroll
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    // Both lanes of a pair add the same two numbers, and addition of two numbers is commutative.
    total += __shfl_xor_sync(kAllLanes, total, half);
    bad += __shfl_xor_sync(kAllLanes, bad, half);
  }
  return {total, bad};
}

__device__ std::int64_t elements_left(std::int64_t n, std::int64_t leaf) {
  const std::int64_t left = n - leaf * kLeafElements;
  return left < 0 ? 0 : left < kLeafElements ? left : kLeafElements;
}

/// Processes sixteen leaves at a time. Their results are written side by side, because they may be
/// in host memory.
__global__ void __launch_bounds__(kLeafThreads)
    leaf_squares_kernel(const float* in, std::int64_t n, std::int64_t leaves, double* sums,
                        std::int64_t* non_finite) {
  __shared__ double sum_of[kLeavesAtOnce];
  __shared__ int bad_of[kLeavesAtOnce];
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int slot = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kLeavesAtOnce;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kLeavesAtOnce; first < leaves;
       first += stride) {
    const std::int64_t leaf = first + slot;
    const Leaf result = square_leaf(in + leaf * kLeafElements, elements_left(n, leaf), lane);
    if (lane == 0) {
      sum_of[slot] = result.sum;
      bad_of[slot] = result.non_finite;
    }
    __syncthreads();
    const std::int64_t mine = first + threadIdx.x;
    if (threadIdx.x < kLeavesAtOnce && mine < leaves) {
      sums[mine] = sum_of[threadIdx.x];
      non_finite[mine] = bad_of[threadIdx.x];
    }
    __syncthreads();
  }
}

}  // namespace

template <>
void run(Context& c, const LeafSquares& a, cudaStream_t stream) {
  const std::int64_t n = a.in.elements(), leaves = ceil_div(n, kLeafElements);
  DS_ASSERT(a.in.dtype == DType::f32 && a.sums.dtype == DType::f64);
  DS_ASSERT(a.sums.elements() == leaves && a.non_finite.elements() == leaves);
  const std::int64_t wanted = ceil_div(leaves, kLeavesAtOnce);
  const std::int64_t most = std::int64_t{8} * c.facts.multiprocessors;
  check(launch(leaf_squares_kernel, {static_cast<unsigned>(std::min(wanted, most)), kLeafThreads},
               stream, static_cast<const float*>(a.in.data), n, leaves,
               static_cast<double*>(a.sums.data), static_cast<std::int64_t*>(a.non_finite.data)),
        "LeafSquares");
}

}  // namespace ds::cuda
