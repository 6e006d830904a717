// Gated units, out = activation(gate) * up, for rows of gates and then ups, and their gradient.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/activations.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kMostThreads = 256;
constexpr std::int64_t kMostRowsOfGrid = 65535;  // limit of a grid's second axis

// A gate's function. apply() makes out of gate and up, reverse() their gradients of d = dout.
struct SiluGate {
  static __device__ float apply(float gate, float up) { return gate * sigmoid(gate) * up; }
  /// d silu(x) / dx = s + x s (1 - s).
  static __device__ void reverse(float& gate, float& up, float d) {
    const float x = gate, s = sigmoid(x);
    gate = d * up * fmaf(x * s, 1.0F - s, s);
    up = d * (x * s);
  }
};
struct GeluGate {
  static __device__ float apply(float gate, float up) { return GeluTanh::value(gate) * up; }
  static __device__ void reverse(float& gate, float& up, float d) {
    const float x = gate;
    gate = d * up * GeluTanh::slope(x);
    up = d * GeluTanh::value(x);
  }
};

/// blockIdx.x: columns; blockIdx.y: rows, in strides.
template <class Gate, class T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    glu_kernel(const T* __restrict__ in, T* __restrict__ out, std::int64_t rows, std::int64_t ffn) {
  const std::int64_t c =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kCount;
  if (c >= ffn) return;
  for (std::int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    float gate[kCount], up[kCount];
    load<kCount>(in + r * 2 * ffn + c, gate);
    load<kCount>(in + r * 2 * ffn + ffn + c, up);
#pragma unroll
    for (int i = 0; i < kCount; ++i) up[i] = Gate::apply(gate[i], up[i]);
    store<kCount>(out + r * ffn + c, up);
  }
}

/// `din` may be `in`: a thread reads both halves first.
template <class Gate, class T, int kCount>
__global__ void __launch_bounds__(kMostThreads)
    glu_backward_kernel(const T* in, const T* dout, T* din, std::int64_t rows, std::int64_t ffn) {
  const std::int64_t c =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kCount;
  if (c >= ffn) return;
  for (std::int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    float gate[kCount], up[kCount], d[kCount];
    load<kCount>(in + r * 2 * ffn + c, gate);
    load<kCount>(in + r * 2 * ffn + ffn + c, up);
    load<kCount>(dout + r * ffn + c, d);
#pragma unroll
    for (int i = 0; i < kCount; ++i) Gate::reverse(gate[i], up[i], d[i]);
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

template <class Gate>
void run_glu(const Glu& a, cudaStream_t stream) {
  const std::int64_t ffn = a.out.shape[1], rows = a.out.shape[0];
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.out.dtype == a.in.dtype);
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(a.in.data);
    auto* to = static_cast<T*>(a.out.data);
    const bool wide = all_aligned(from, to) && ffn % kPackOf<T> == 0;
    const Columns c = columns_of(rows, ffn, wide ? kPackOf<T> : 1);
    return launch(wide ? glu_kernel<Gate, T, kPackOf<T>> : glu_kernel<Gate, T, 1>,
                  {c.grid, c.threads}, stream, from, to, rows, ffn);
  };
  check(with_act(act_of(a.in.dtype), of_type), "Glu");
}

template <class Gate>
void run_glu_backward(const GluBackward& a, cudaStream_t stream) {
  const std::int64_t ffn = a.dout.shape[1], rows = a.dout.shape[0];
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.din.elements() == 2 * rows * ffn);
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(a.in.data);
    const auto* gradient = static_cast<const T*>(a.dout.data);
    auto* to = static_cast<T*>(a.din.data);
    const bool wide = all_aligned(from, gradient, to) && ffn % kPackOf<T> == 0;
    const Columns c = columns_of(rows, ffn, wide ? kPackOf<T> : 1);
    return launch(wide ? glu_backward_kernel<Gate, T, kPackOf<T>> : glu_backward_kernel<Gate, T, 1>,
                  {c.grid, c.threads}, stream, from, gradient, to, rows, ffn);
  };
  check(with_act(act_of(a.in.dtype), of_type), "GluBackward");
}

}  // namespace

template <>
void run(Context&, const Glu& a, cudaStream_t stream) {
  DS_ASSERT(is_gate(a.activation));
  if (a.activation == Activation::silu) return run_glu<SiluGate>(a, stream);
  run_glu<GeluGate>(a, stream);
}

template <>
void run(Context&, const GluBackward& a, cudaStream_t stream) {
  DS_ASSERT(is_gate(a.activation));
  if (a.activation == Activation::silu) return run_glu_backward<SiluGate>(a, stream);
  run_glu_backward<GeluGate>(a, stream);
}

}  // namespace ds::cuda
