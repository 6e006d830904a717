// Sums of squares of leaves of 1024 elements and the tree over them, with the bits of the CPU
// (engine/kernels/cpu/simd/sums.h, engine/kernels/leaf_tree.h).
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"
#include "engine/kernels/leaf_tree.h"

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

/// Computes the tree of leaf_tree.h over `count` sums in shared memory: neighbors first, then pairs
/// of them, and so on.
template <int kThreads>
__device__ void tree_sum(double* sums, std::int64_t* bad, int count) {
  for (int distance = 1; distance < count; distance *= 2) {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x) * 2 * distance; i + distance < count;
         i += kThreads * 2 * distance) {
      sums[i] += sums[i + distance];
      bad[i] += bad[i + distance];
    }
  }
  __syncthreads();
}

constexpr int kTaskThreads = 1024;
static_assert(kTaskThreads == kLanes * kLeavesPerTask);

/// blockIdx.x: one task, an aligned subtree of 64 leaves.
__global__ void __launch_bounds__(kTaskThreads)
    task_kernel(const float* in, std::int64_t n, std::int64_t first_task, double* task_sums,
                std::int64_t* task_bad) {
  __shared__ double sums[kLeavesPerTask];
  __shared__ std::int64_t bad[kLeavesPerTask];
  const std::int64_t first = (first_task + blockIdx.x) * kLeavesPerTask;
  const int slot = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t leaf = first + slot;
  const Leaf result = square_leaf(in + leaf * kLeafElements, elements_left(n, leaf),
                                  static_cast<int>(threadIdx.x) % kLanes);
  if (threadIdx.x % kLanes == 0) {
    sums[slot] = result.sum;
    bad[slot] = result.non_finite;
  }
  const std::int64_t left = (n + kLeafElements - 1) / kLeafElements - first;
  tree_sum<kTaskThreads>(sums, bad,
                         static_cast<int>(left < kLeavesPerTask ? left : kLeavesPerTask));
  if (threadIdx.x == 0) {
    task_sums[blockIdx.x] = sums[0];
    task_bad[blockIdx.x] = bad[0];
  }
}

/// Computes the tree over values in global memory, in place, by one block.
__global__ void __launch_bounds__(kTaskThreads)
    tree_kernel(double* sums, std::int64_t* bad, int count, double* sum, std::int64_t* non_finite) {
  tree_sum<kTaskThreads>(sums, bad, count);
  if (threadIdx.x == 0) {
    *sum = sums[0];
    *non_finite = bad[0];
  }
}

}  // namespace

cudaError_t launch_leaf_squares(const Launch& l, const float* in, std::int64_t n, double* sums,
                                std::int64_t* non_finite) {
  const std::int64_t leaves = (n + kLeafElements - 1) / kLeafElements;
  const std::int64_t wanted = (leaves + kLeavesAtOnce - 1) / kLeavesAtOnce;
  const std::int64_t most = std::int64_t{8} * l.multiprocessors;
  return launch(leaf_squares_kernel,
                {static_cast<unsigned>(wanted < most ? wanted : most), kLeafThreads}, l.stream, in,
                n, leaves, sums, non_finite);
}

cudaError_t launch_squared_sum(const Launch& l, const float* in, std::int64_t n,
                               const SquaredSumScratch& scratch, double* sum,
                               std::int64_t* non_finite) {
  const std::int64_t leaves = (n + kLeafElements - 1) / kLeafElements;
  const std::int64_t tasks = (leaves + kLeavesPerTask - 1) / kLeavesPerTask;
  std::int64_t rounds = 0;
  for (std::int64_t first = 0; first < tasks; first += kTasksPerRound, ++rounds) {
    const std::int64_t count = tasks - first < kTasksPerRound ? tasks - first : kTasksPerRound;
    cudaError_t error = launch(task_kernel, {static_cast<unsigned>(count), kTaskThreads}, l.stream,
                               in, n, first, scratch.task_sums, scratch.task_bad);
    if (error != cudaSuccess) return error;
    error =
        launch(tree_kernel, {1, kTaskThreads}, l.stream, scratch.task_sums, scratch.task_bad,
               static_cast<int>(count), scratch.round_sums + rounds, scratch.round_bad + rounds);
    if (error != cudaSuccess) return error;
  }
  return launch(tree_kernel, {1, kTaskThreads}, l.stream, scratch.round_sums, scratch.round_bad,
                static_cast<int>(rounds), sum, non_finite);
}

}  // namespace ds::cuda
