// SwiGLU, out = silu(gate) * up, for rows of gates and then ups, and its gradient.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/gelu.cuh"
#include "engine/kernels/cuda/launchers.h"

namespace ds::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr std::int64_t kMostRowsOfGrid = 65535;  // limit of a grid's second axis

/// blockIdx.x: columns; blockIdx.y: rows, in strides.
template <class T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    swiglu_kernel(const T* __restrict__ in, T* __restrict__ out, std::int64_t rows,
                  std::int64_t ffn) {
  const std::int64_t c =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kCount;
  if (c >= ffn) return;
  for (std::int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    float gate[kCount], up[kCount];
    load<kCount>(in + r * 2 * ffn + c, gate);
    load<kCount>(in + r * 2 * ffn + ffn + c, up);
#pragma unroll
    for (int i = 0; i < kCount; ++i) up[i] = gate[i] * sigmoid(gate[i]) * up[i];
    store<kCount>(out + r * ffn + c, up);
  }
}

/// d silu(x) / dx = s + x s (1 - s). `din` may be `in`: a thread reads both halves first.
template <class T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    swiglu_backward_kernel(const T* in, const T* dout, T* din, std::int64_t rows,
                           std::int64_t ffn) {
  const std::int64_t c =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kCount;
  if (c >= ffn) return;
  for (std::int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    float gate[kCount], up[kCount], d[kCount];
    load<kCount>(in + r * 2 * ffn + c, gate);
    load<kCount>(in + r * 2 * ffn + ffn + c, up);
    load<kCount>(dout + r * ffn + c, d);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float x = gate[i], s = sigmoid(x);
      gate[i] = d[i] * up[i] * fmaf(x * s, 1.0F - s, s);
      up[i] = d[i] * (x * s);
    }
    store<kCount>(din + r * 2 * ffn + c, gate);
    store<kCount>(din + r * 2 * ffn + ffn + c, up);
  }
}

struct Columns {
  dim3 grid;
  unsigned threads;
};
Columns columns_of(std::int64_t rows, std::int64_t ffn, int count) {
  const std::int64_t packs = (ffn + count - 1) / count;
  const std::int64_t threads = packs < kMostThreads ? (packs + 31) / 32 * 32 : kMostThreads;
  return {dim3(static_cast<unsigned>((packs + threads - 1) / threads),
               static_cast<unsigned>(rows < kMostRowsOfGrid ? rows : kMostRowsOfGrid)),
          static_cast<unsigned>(threads)};
}

}  // namespace

cudaError_t launch_swiglu(const Launch& l, Act act, const void* in, void* out, std::int64_t rows,
                          std::int64_t ffn) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    const bool wide = all_aligned(from, to) && ffn % kPackOf<T> == 0;
    const Columns c = columns_of(rows, ffn, wide ? kPackOf<T> : 1);
    return launch(wide ? swiglu_kernel<T, kPackOf<T>> : swiglu_kernel<T, 1>, {c.grid, c.threads},
                  l.stream, from, to, rows, ffn);
  });
}

cudaError_t launch_swiglu_backward(const Launch& l, Act act, const void* in, const void* dout,
                                   void* din, std::int64_t rows, std::int64_t ffn) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(in);
    const auto* gradient = static_cast<const T*>(dout);
    auto* to = static_cast<T*>(din);
    const bool wide = all_aligned(from, gradient, to) && ffn % kPackOf<T> == 0;
    const Columns c = columns_of(rows, ffn, wide ? kPackOf<T> : 1);
    return launch(wide ? swiglu_backward_kernel<T, kPackOf<T>> : swiglu_backward_kernel<T, 1>,
                  {c.grid, c.threads}, l.stream, from, gradient, to, rows, ffn);
  });
}

}  // namespace ds::cuda
