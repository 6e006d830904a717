// Norms of rows that do not fit in a block's registers: each row is read again from the caches.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;

/// Returns the sum over the block, in warp order.
__device__ float block_sum(float x, float* shared) {
  x = warp_sum(x);
  __syncthreads();  // previous contents have been read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[0];
  for (int i = 1; i < kWarps; ++i) x += shared[i];
  return x;
}

/// blockIdx.x: a row. A thread reads again only what it wrote itself.
template <class T>
__global__ void __launch_bounds__(kThreads) wide_kernel(NormForward a) {
  __shared__ float shared[kWarps];
  const std::int64_t row = blockIdx.x, at = row * a.width;
  const auto width = static_cast<float>(a.width);
  const T* x = static_cast<const T*>(a.in) + at;
  if (a.delta != nullptr) {
    T* sum = static_cast<T*>(a.sum) + at;
    const T* delta = static_cast<const T*>(a.delta) + at;
    for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) {
      sum[c] = from_float<T>(to_float(x[c]) + to_float(delta[c]));
    }
    x = sum;
  }
  float mean = 0, squares = 0;
  if (a.mean != nullptr) {
    for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) mean += to_float(x[c]);
    mean = block_sum(mean, shared) / width;
  }
  for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) {
    const float d = to_float(x[c]) - mean;
    squares = fmaf(d, d, squares);
  }
  const float rstd = 1.0F / sqrtf(block_sum(squares, shared) / width + a.eps);
  for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) {
    const float bias = a.bias == nullptr ? 0.0F : to_float(static_cast<const T*>(a.bias)[c]);
    const float weight = to_float(static_cast<const T*>(a.weight)[c]);
    static_cast<T*>(a.out)[at + c] =
        from_float<T>(fmaf((to_float(x[c]) - mean) * rstd, weight, bias));
  }
  if (threadIdx.x != 0) return;
  if (a.mean != nullptr) a.mean[row] = mean;
  a.rstd[row] = rstd;
}

/// blockIdx.x: a row. Computes the gradient of the input.
template <class T>
__global__ void __launch_bounds__(kThreads) wide_backward_kernel(NormBackward a) {
  __shared__ float shared[kWarps];
  const std::int64_t row = blockIdx.x, at = row * a.width;
  const auto width = static_cast<float>(a.width);
  const T* dout = static_cast<const T*>(a.dout) + at;
  const T* x = static_cast<const T*>(a.in) + at;
  const T* weight = static_cast<const T*>(a.weight);
  const float mean = a.mean == nullptr ? 0.0F : a.mean[row], rstd = a.rstd[row];
  float plain = 0, weighted = 0;
  for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) {
    const float g = to_float(dout[c]) * to_float(weight[c]);
    plain += g;
    weighted = fmaf(g, (to_float(x[c]) - mean) * rstd, weighted);
  }
  plain = a.mean == nullptr ? 0.0F : block_sum(plain, shared) / width;
  weighted = block_sum(weighted, shared) / width;
  for (std::int64_t c = threadIdx.x; c < a.width; c += kThreads) {
    const float normal = (to_float(x[c]) - mean) * rstd;
    float d = (to_float(dout[c]) * to_float(weight[c]) - plain - normal * weighted) * rstd;
    if (a.dresidual != nullptr) d += to_float(static_cast<const T*>(a.dresidual)[at + c]);
    static_cast<T*>(a.din)[at + c] = from_float<T>(d);
  }
}

/// blockIdx.x: columns, blockIdx.y: a block of rows. Computes its sums of the weights' gradients.
template <class T>
__global__ void __launch_bounds__(kThreads) wide_parts_kernel(NormBackward a) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= a.width) return;
  const std::int64_t begin = blockIdx.y * a.block_rows;
  const std::int64_t end = begin + a.block_rows < a.rows ? begin + a.block_rows : a.rows;
  float dweight = 0, dbias = 0;
  for (std::int64_t r = begin; r < end; ++r) {
    const float dy = to_float(static_cast<const T*>(a.dout)[r * a.width + c]);
    const float x = to_float(static_cast<const T*>(a.in)[r * a.width + c]);
    const float mean = a.mean == nullptr ? 0.0F : a.mean[r];
    dweight = fmaf(dy, (x - mean) * a.rstd[r], dweight);
    dbias += dy;
  }
  a.dweight_parts[blockIdx.y * a.width + c] = dweight;
  if (a.dbias_parts != nullptr) a.dbias_parts[blockIdx.y * a.width + c] = dbias;
}

}  // namespace

cudaError_t launch_norm_wide(const Launch& l, Act act, const NormForward& a) {
  return with_act(act, [&](auto type) {
    return launch(wide_kernel<typename decltype(type)::Element>,
                  {static_cast<unsigned>(a.rows), kThreads}, l.stream, a);
  });
}

cudaError_t launch_norm_backward_wide(const Launch& l, Act act, const NormBackward& a) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const dim3 columns(static_cast<unsigned>((a.width + kThreads - 1) / kThreads),
                       static_cast<unsigned>(a.blocks));
    const cudaError_t error = launch(wide_parts_kernel<T>, {columns, kThreads}, l.stream, a);
    if (error != cudaSuccess) return error;
    return launch(wide_backward_kernel<T>, {static_cast<unsigned>(a.rows), kThreads}, l.stream, a);
  });
}

}  // namespace ds::cuda
