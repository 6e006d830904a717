// Elementwise kernels out[i] = f(a[i], b[i]): sums, activations and their gradients, casts.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/activations.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWaves = 8;   // blocks per multiprocessor: all of its threads
constexpr int kAtOnce = 2;  // accesses in flight per thread and operand

struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
template <class Function>
struct ValueOf {
  __device__ float operator()(float a, float) const { return Function::value(a); }
};
template <class Function>
struct SlopeOf {
  __device__ float operator()(float pre, float dout) const { return dout * Function::slope(pre); }
};
struct Times {
  float scale;
  __device__ float operator()(float a, float) const { return a * scale; }
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

/// Computes out[i] = f(a[i], b[i]) for any type of activations. `b` may be the empty tensor.
template <class F>
void map(const Context& c, const ConstTensor& a, const ConstTensor& b, const Tensor& out, F f,
         cudaStream_t stream, const char* name) {
  DS_ASSERT(out.dtype == a.dtype && out.elements() == a.elements());
  DS_ASSERT(!b || (b.dtype == a.dtype && b.elements() == a.elements()));
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const Launch l = launch_on(c, stream);
    return b ? map<T, T, true>(l, a.data, b.data, out.data, a.elements(), f)
             : map<T, T, false>(l, a.data, nullptr, out.data, a.elements(), f);
  };
  check(with_act(act_of(a.dtype), of_type), name);
}

template <class From, class To>
cudaError_t convert(const Launch& l, const Cast& a) {
  return map<From, To, false>(l, a.in.data, nullptr, a.out.data, a.in.elements(), Same{});
}

}  // namespace

template <>
void run(Context& c, const Add& a, cudaStream_t stream) {
  map(c, a.a, a.b, a.out, Plus{}, stream, "Add");
}

void run_scale(const Context& c, const ConstTensor& in, float scale, const Tensor& out,
               cudaStream_t stream) {
  map(c, in, {}, out, Times{scale}, stream, "scaling");
}

template <>
void run(Context& c, const Activate& a, cudaStream_t stream) {
  DS_ASSERT(a.activation != Activation::silu);
  with_activation(a.activation, [&](auto function) {
    map(c, a.in, {}, a.out, ValueOf<decltype(function)>{}, stream, "Activate");
  });
}

template <>
void run(Context& c, const ActivateBackward& a, cudaStream_t stream) {
  DS_ASSERT(a.activation != Activation::silu);
  with_activation(a.activation, [&](auto function) {
    map(c, a.pre, a.dout, a.din, SlopeOf<decltype(function)>{}, stream, "ActivateBackward");
  });
}

template <>
void run(Context& c, const Cast& a, cudaStream_t stream) {
  DS_ASSERT(a.out.elements() == a.in.elements());
  if (a.in.dtype == a.out.dtype) {
    check(cudaMemcpyAsync(a.out.data, a.in.data, static_cast<std::size_t>(a.in.bytes()),
                          cudaMemcpyDefault, stream),
          "Cast");
    return;
  }
  DS_ASSERT(a.in.dtype == DType::f32 || a.out.dtype == DType::f32);
  const Launch l = launch_on(c, stream);
  const bool widens = a.out.dtype == DType::f32;
  const bool is_bf16 = (widens ? a.in.dtype : a.out.dtype) == DType::bf16;
  check(widens ? (is_bf16 ? convert<Bf16, float>(l, a) : convert<F16, float>(l, a))
               : (is_bf16 ? convert<float, Bf16>(l, a) : convert<float, F16>(l, a)),
        "Cast");
}

}  // namespace ds::cuda
