// RMS norm of each head of queries and keys, and its gradient. A warp holds one head in registers;
// a head has at most 512 elements.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kHeld = kMostOfHead / 32;  // elements of a head per lane
enum HeadPart : int { kQueries, kKeys, kValues };

/// Calls f(pack, first element) for each pack of a head that this lane holds.
template <int kCount, class F>
__device__ void each_pack(int depth, const F& f) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int j = 0; j < kHeld / kCount; ++j) {
    const int c = (j * 32 + lane) * kCount;
    if (c < depth) f(j, c);
  }
}

template <int kCount, class T>
__device__ void copy_head(const T* from, T* to, int depth) {
  if (from == to) return;
  each_pack<kCount>(depth, [&](int, int c) {
    float x[kCount];
    load<kCount>(from + c, x);
    store<kCount>(to + c, x);
  });
}

/// Loads a head and returns 1 / sqrt(mean of squares + eps), the same bits in every lane.
template <int kCount, class T>
__device__ float read_head(const T* in, int depth, float eps, float (&x)[kHeld / kCount][kCount]) {
  float squares = 0;
  each_pack<kCount>(depth, [&](int j, int c) {
    load<kCount>(in + c, x[j]);
#pragma unroll
    for (int i = 0; i < kCount; ++i) squares = fmaf(x[j][i], x[j][i], squares);
  });
  return 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(depth) + eps);
}

/// A warp per head of a row.
template <class T, int kCount>
__global__ void __launch_bounds__(32 * kWarps) head_norm_kernel(HeadNormForward a) {
  const HeadSizes& s = a.sizes;
  const int all = s.heads + 2 * s.groups, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (item >= s.rows * all) return;
  const int head = static_cast<int>(item % all);
  const T* in = static_cast<const T*>(a.in) + item * s.depth;
  T* out = static_cast<T*>(a.out) + item * s.depth;
  if (head >= s.heads + s.groups) {
    copy_head<kCount>(in, out, s.depth);
    return;
  }
  const T* weights = static_cast<const T*>(head < s.heads ? a.q_weight : a.k_weight);
  float x[kHeld / kCount][kCount];
  const float rstd = read_head<kCount>(in, s.depth, a.eps, x);
  each_pack<kCount>(s.depth, [&](int j, int c) {
    float weight[kCount];
    load<kCount>(weights + c, weight);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[j][i] = x[j][i] * rstd * weight[i];
    store<kCount>(out + c, x[j]);
  });
}

/// Writes the gradient of one head and adds to the weight's.
template <int kCount, class T>
__device__ void head_backward(const T* dout, const T* in, const T* weights, T* din, int depth,
                              float eps, float (&dweight)[kHeld / kCount][kCount]) {
  float x[kHeld / kCount][kCount], dy[kHeld / kCount][kCount];
  const float rstd = read_head<kCount>(in, depth, eps, x);
  float weighted = 0;
  each_pack<kCount>(depth, [&](int j, int c) {
    float weight[kCount];
    load<kCount>(dout + c, dy[j]);
    load<kCount>(weights + c, weight);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      x[j][i] *= rstd;
      dweight[j][i] = fmaf(dy[j][i], x[j][i], dweight[j][i]);
      dy[j][i] *= weight[i];
      weighted = fmaf(dy[j][i], x[j][i], weighted);
    }
  });
  weighted = warp_sum(weighted) / static_cast<float>(depth);
  each_pack<kCount>(depth, [&](int j, int c) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) dy[j][i] = (dy[j][i] - x[j][i] * weighted) * rstd;
    store<kCount>(din + c, dy[j]);
  });
}

/// Adds the warps' sums in warp order and writes the block's.
template <int kCount>
__device__ void write_part(const float (&dweight)[kHeld / kCount][kCount], int depth, float* part) {
  __shared__ float sums[kWarps][kMostOfHead];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  each_pack<kCount>(depth, [&](int j, int c) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[warp][c + i] = dweight[j][i];
  });
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < depth; c += 32 * kWarps) {
    float sum = sums[0][c];
    for (int w = 1; w < kWarps; ++w) sum += sums[w][c];
    part[c] = sum;
  }
}

/// blockIdx.x: a block of rows; blockIdx.y: a HeadPart. Warps take the heads of the block in turn.
template <class T, int kCount>
__global__ void __launch_bounds__(32 * kWarps) head_norm_backward_kernel(HeadNormGradient a) {
  const HeadSizes& s = a.sizes;
  const int part = static_cast<int>(blockIdx.y), warp = static_cast<int>(threadIdx.x) / 32;
  const int count = part == kQueries ? s.heads : s.groups;
  const int before = part == kQueries ? 0 : part == kKeys ? s.heads : s.heads + s.groups;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * a.block_rows;
  const std::int64_t end = begin + a.block_rows < s.rows ? begin + a.block_rows : s.rows;
  const T* weights = static_cast<const T*>(part == kQueries ? a.q_weight : a.k_weight);
  float dweight[kHeld / kCount][kCount] = {};
  for (std::int64_t i = begin * count + warp; i < end * count; i += kWarps) {
    const std::int64_t at = (i / count * (s.heads + 2 * s.groups) + before + i % count) * s.depth;
    const T* dout = static_cast<const T*>(a.dout) + at;
    T* din = static_cast<T*>(a.din) + at;
    if (part == kValues) {
      copy_head<kCount>(dout, din, s.depth);
    } else {
      head_backward<kCount>(dout, static_cast<const T*>(a.in) + at, weights, din, s.depth, a.eps,
                            dweight);
    }
  }
  if (part == kValues) return;
  write_part<kCount>(
      dweight, s.depth,
      (part == kQueries ? a.q_parts : a.k_parts) + static_cast<std::int64_t>(blockIdx.x) * s.depth);
}

}  // namespace

cudaError_t launch_head_norm(const Launch& l, Act act, const HeadNormForward& a) {
  const std::int64_t items = a.sizes.rows * (a.sizes.heads + 2 * a.sizes.groups);
  const auto blocks = static_cast<unsigned>((items + kWarps - 1) / kWarps);
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const bool wide = all_aligned(a.in, a.q_weight, a.k_weight, a.out) && a.sizes.depth % 4 == 0;
    return launch(wide ? head_norm_kernel<T, 4> : head_norm_kernel<T, 1>, {blocks, 32 * kWarps},
                  l.stream, a);
  });
}

cudaError_t launch_head_norm_backward(const Launch& l, Act act, const HeadNormGradient& a) {
  const dim3 grid(static_cast<unsigned>(a.blocks), 3);
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const bool wide =
        all_aligned(a.dout, a.in, a.q_weight, a.k_weight, a.din) && a.sizes.depth % 4 == 0;
    return launch(wide ? head_norm_backward_kernel<T, 4> : head_norm_backward_kernel<T, 1>,
                  {grid, 32 * kWarps}, l.stream, a);
  });
}

}  // namespace ds::cuda
