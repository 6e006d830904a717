// Rotary position embedding of queries and keys that are stored in rows.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;

/// blockIdx.x: a row. Its cosines and sines are computed once for all heads. `out` may be `in`.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads) rotary_kernel(RotaryNumbers n, const T* in, T* out) {
  __shared__ float cosine[kMostRotaryPairs], sine[kMostRotaryPairs];
  const int half = n.head_size / 2, tid = static_cast<int>(threadIdx.x);
  const auto position = static_cast<float>(blockIdx.x % n.seq_len);
  for (int i = tid; i < half; i += kThreads) {
    float s, c;
    sincosf(position * n.frequency[i], &s, &c);
    cosine[i] = c;
    sine[i] = n.inverse ? -s : s;
  }
  __syncthreads();
  const int turned = n.turned_heads * n.head_size, copied = n.copied_heads * n.head_size;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (turned + copied);
  const int packs = half / kCount;  // per half of a head
  for (int item = tid; item < n.turned_heads * packs; item += kThreads) {
    const int i = item % packs * kCount;
    const std::int64_t at = row + item / packs * n.head_size + i;
    float x[kCount], y[kCount];
    load<kCount>(in + at, x);
    load<kCount>(in + at + half, y);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float c = cosine[i + k], s = sine[i + k], u = x[k];
      x[k] = u * c - y[k] * s;
      y[k] = y[k] * c + u * s;
    }
    store<kCount>(out + at, x);
    store<kCount>(out + at + half, y);
  }
  if (in == out) return;
  for (int c = tid * kCount; c < copied; c += kThreads * kCount) {
    float x[kCount];
    load<kCount>(in + row + turned + c, x);
    store<kCount>(out + row + turned + c, x);
  }
}

}  // namespace

cudaError_t launch_rotary(const Launch& l, Act act, const RotaryNumbers& n, const void* in,
                          void* out) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    const bool wide = all_aligned(from, to) && n.head_size / 2 % kPackOf<T> == 0;
    return launch(wide ? rotary_kernel<T, kPackOf<T>> : rotary_kernel<T, 1>,
                  {static_cast<unsigned>(n.rows), kThreads}, l.stream, n, from, to);
  });
}

}  // namespace ds::cuda
