// Optimizer updates in one pass: unscale, clip, update, cast. The arithmetic is in
// engine/optimizers, so the bits equal the CPU's.
#include <bit>

#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/update.h"
#include "engine/tensor/split_master.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256, kWaves = 8;
constexpr int kCount = 4;

/// Each operation is correctly rounded on its own: by --fmad=false and nvcc's division and root.
struct DeviceMath {
  __host__ __device__ static float broadcast(float x) { return x; }
  __host__ __device__ static float fma(float a, float b, float c) { return fmaf(a, b, c); }
  __host__ __device__ static float mul(float a, float b) { return a * b; }
  __host__ __device__ static float sub(float a, float b) { return a - b; }
  __host__ __device__ static float div(float a, float b) { return a / b; }
  __host__ __device__ static float sqrt(float a) { return sqrtf(a); }
  __host__ __device__ static float sign(float a) {
    return static_cast<float>(a > 0.0F) - static_cast<float>(a < 0.0F);
  }
};

/// Access to the lower half of a master's bits.
struct LowHalf {
  std::uint16_t bits;
};

template <bool kSplit, int kN>
__device__ void read_master(const UpdateArrays& a, std::int64_t i, float (&w)[kN]) {
  if constexpr (kSplit) {
    const auto high = load_pack<kN>(static_cast<const Bf16*>(a.weights) + i);
    const auto less = load_pack<kN>(reinterpret_cast<const LowHalf*>(a.low) + i);
    std::uint16_t upper[kN], lower[kN];
    __builtin_memcpy(upper, &high, sizeof(upper));
    __builtin_memcpy(lower, &less, sizeof(lower));
#pragma unroll
    for (int k = 0; k < kN; ++k) {
      w[k] = joined_halves(upper[k], static_cast<std::int16_t>(lower[k]));
    }
  } else {
    load<kN>(a.master + i, w);
  }
}

template <bool kSplit, int kN>
__device__ void write_master(const UpdateArrays& a, std::int64_t i, const float (&w)[kN]) {
  if constexpr (kSplit) {
    store<kN>(static_cast<Bf16*>(a.weights) + i, w);
    std::uint16_t lower[kN];
#pragma unroll
    for (int k = 0; k < kN; ++k) lower[k] = static_cast<std::uint16_t>(low_half(w[k]));
    Pack<LowHalf, kN> less;
    __builtin_memcpy(&less, lower, sizeof(lower));
    *reinterpret_cast<Pack<LowHalf, kN>*>(a.low + i) = less;
  } else {
    store<kN>(a.master + i, w);
    if (a.weights == nullptr) return;
    if (a.act == Act::bf16) store<kN>(static_cast<Bf16*>(a.weights) + i, w);
    if (a.act == Act::f16) store<kN>(static_cast<F16*>(a.weights) + i, w);
    if (a.act == Act::f32) store<kN>(static_cast<float*>(a.weights) + i, w);
  }
}

template <bool kSplit, int kN, class Rule>
__device__ void update_at(const UpdateArrays& a, std::int64_t i, bool decays, const Rule& rule) {
  float g[kN], w[kN], m[kN], v[kN] = {};
  load<kN>(a.grad + i, g);
  load<kN>(a.m + i, m);
  if constexpr (Rule::kTwoMoments) load<kN>(a.v + i, v);
  read_master<kSplit, kN>(a, i, w);
#pragma unroll
  for (int k = 0; k < kN; ++k) {
    (decays ? rule : rule.without_decay()).template update<DeviceMath>(g[k], w[k], m[k], v[k]);
  }
  store<kN>(a.m + i, m);
  if constexpr (Rule::kTwoMoments) store<kN>(a.v + i, v);
  write_master<kSplit, kN>(a, i, w);
}

/// Returns whether element i decays. A thread asks for ascending elements; `passed` counts the cuts
/// that are behind it.
__device__ bool decays_at(const DecayCuts& cuts, int& passed, std::int64_t i) {
  while (passed < cuts.count && cuts.at[passed] <= i) ++passed;
  return passed % 2 == 0;
}

/// Processes the first `packs` * kCount elements by wide accesses, the rest one by one.
template <bool kSplit, class Rule>
__global__ void __launch_bounds__(kThreads)
    update_kernel(UpdateArrays a, std::int64_t packs, Rule rule) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  int passed = 0;
  for (std::int64_t i = first; i < packs; i += stride) {
    update_at<kSplit, kCount>(a, i * kCount, decays_at(a.cuts, passed, i * kCount), rule);
  }
  for (std::int64_t i = packs * kCount + first; i < a.n; i += stride) {
    update_at<kSplit, 1>(a, i, decays_at(a.cuts, passed, i), rule);
  }
}

template <class Rule>
cudaError_t update(const Launch& l, const UpdateArrays& a, const Rule& rule) {
  const bool wide = all_aligned(a.grad, a.master, a.m, a.v, a.weights, a.low);
  const std::int64_t packs = wide ? a.n / kCount : 0;
  const unsigned grid = grid_of(packs > 0 ? packs : a.n, kThreads, l.multiprocessors, kWaves);
  return launch(a.low != nullptr ? update_kernel<true, Rule> : update_kernel<false, Rule>,
                {grid, kThreads}, l.stream, a, packs, rule);
}

}  // namespace

cudaError_t launch_update(const Launch& l, const OptimizerRule& rule, const UpdateArrays& a) {
  return std::visit([&](const auto& row) { return update(l, a, row); }, rule);
}

}  // namespace ds::cuda
