// Elementwise kernels out[i] = f(a[i], b[i]): sums, GELU and its gradient, casts.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/gelu.cuh"
#include "engine/kernels/cuda/launchers.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWaves = 8;   // blocks per multiprocessor: all of its threads
constexpr int kAtOnce = 2;  // accesses in flight per thread and operand

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Gelu {
  __device__ float operator()(float a, float) const { return gelu(a); }
};
struct GeluGradient {
  __device__ float operator()(float pre, float dout) const { return dout * gelu_slope(pre); }
};
struct Same {
  __device__ float operator()(float a, float) const { return a; }
};

/// Processes the first `packs` * kCount elements by wide accesses, the rest one by one. `out` may
/// be an operand's memory: an element's operands are read before it is written.
template <class In, class Out, bool kTwo, class F>
__global__ void __launch_bounds__(kThreads)
    map_kernel(const In* a, const In* b, Out* out, std::int64_t n, std::int64_t packs, F f) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (std::int64_t i = first; i < packs; i += kAtOnce * stride) {
    Pack<In, kCount> x[kAtOnce], y[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const std::int64_t at = i + j * stride;
      if (at >= packs) break;
      x[j] = load_pack<kCount>(a + at * kCount);
      if constexpr (kTwo) y[j] = load_pack<kCount>(b + at * kCount);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const std::int64_t at = i + j * stride;
      if (at >= packs) break;
      float u[kCount], v[kCount] = {};
      x[j].get(u);
      if constexpr (kTwo) y[j].get(v);
#pragma unroll
      for (int k = 0; k < kCount; ++k) u[k] = f(u[k], v[k]);
      store<kCount>(out + at * kCount, u);
    }
  }
  for (std::int64_t i = packs * kCount + first; i < n; i += stride) {
    out[i] = from_float<Out>(f(to_float(a[i]), kTwo ? to_float(b[i]) : 0.0F));
  }
}

template <class In, class Out, bool kTwo, class F>
cudaError_t map(const Launch& l, const void* a, const void* b, void* out, std::int64_t n, F f) {
  constexpr int kCount = 16 / static_cast<int>(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out));
  const auto* first = static_cast<const In*>(a);
  const auto* second = static_cast<const In*>(b);
  auto* to = static_cast<Out*>(out);
  const std::int64_t packs = all_aligned(first, second, to) ? n / kCount : 0;
  const std::int64_t items = packs > 0 ? (packs + kAtOnce - 1) / kAtOnce : n;
  return launch(map_kernel<In, Out, kTwo, F>,
                {grid_of(items, kThreads, l.multiprocessors, kWaves), kThreads}, l.stream, first,
                second, to, n, packs, f);
}

}  // namespace

cudaError_t launch_map(const Launch& l, Map which, Act act, const void* a, const void* b, void* out,
                       std::int64_t n) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    switch (which) {
      case Map::add:
        return map<T, T, true>(l, a, b, out, n, Sum{});
      case Map::gelu:
        return map<T, T, false>(l, a, nullptr, out, n, Gelu{});
      case Map::gelu_backward:
        return map<T, T, true>(l, a, b, out, n, GeluGradient{});
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t launch_cast(const Launch& l, Act from, Act to, const void* in, void* out,
                        std::int64_t n) {
  if (from == Act::f32 && to == Act::bf16) {
    return map<float, Bf16, false>(l, in, nullptr, out, n, Same{});
  }
  if (from == Act::f32 && to == Act::f16) {
    return map<float, F16, false>(l, in, nullptr, out, n, Same{});
  }
  if (from == Act::bf16 && to == Act::f32) {
    return map<Bf16, float, false>(l, in, nullptr, out, n, Same{});
  }
  if (from == Act::f16 && to == Act::f32) {
    return map<F16, float, false>(l, in, nullptr, out, n, Same{});
  }
  return cudaErrorInvalidValue;
}

}  // namespace ds::cuda
