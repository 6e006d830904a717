// Normal numbers by Philox, with the bits of the CPU.
#include <algorithm>
#include <bit>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/normal_numbers.h"
#include "engine/tensor/philox.h"

namespace ds::cuda {
namespace {

/// Fills `out` with elements first_element ... of the logical tensor.
struct NormalNumbersFill {
  float* out;
  std::int64_t n, first_element;
  float mean, deviation;
  std::uint64_t seed, key;
};

struct F32 {
  float x;
};
struct U32 {
  std::uint32_t x;
};

__host__ __device__ inline F32 operator+(F32 a, F32 b) { return {a.x + b.x}; }
__host__ __device__ inline F32 operator-(F32 a, F32 b) { return {a.x - b.x}; }
__host__ __device__ inline F32 operator*(F32 a, F32 b) { return {a.x * b.x}; }
__host__ __device__ inline F32 fma(F32 a, F32 b, F32 c) { return {fmaf(a.x, b.x, c.x)}; }
__host__ __device__ inline F32 sqrt(F32 a) { return {sqrtf(a.x)}; }
__host__ __device__ inline U32 operator+(U32 a, U32 b) { return {a.x + b.x}; }
__host__ __device__ inline U32 operator-(U32 a, U32 b) { return {a.x - b.x}; }
__host__ __device__ inline U32 operator&(U32 a, U32 b) { return {a.x & b.x}; }
__host__ __device__ inline U32 operator^(U32 a, U32 b) { return {a.x ^ b.x}; }
template <unsigned kBits>
__host__ __device__ U32 shift_left(U32 a) {
  return {a.x << kBits};
}
template <unsigned kBits>
__host__ __device__ U32 shift_right(U32 a) {
  return {a.x >> kBits};
}
__host__ __device__ inline U32 bits_of(F32 a) { return {std::bit_cast<std::uint32_t>(a.x)}; }
__host__ __device__ inline F32 from_bits(U32 a) { return {std::bit_cast<float>(a.x)}; }
__host__ __device__ inline F32 to_f32(U32 a) { return {static_cast<float>(a.x)}; }

struct OneLane {
  using F32 = cuda::F32;
  using U32 = cuda::U32;
  __host__ __device__ static F32 broadcast(float x) { return {x}; }
  __host__ __device__ static U32 broadcast(std::uint32_t x) { return {x}; }
};

constexpr int kThreads = 256;

/// A thread makes elements 4 * counter ... 4 * counter + 3 of the logical tensor from one counter.
__global__ void __launch_bounds__(kThreads) fill_normal_kernel(NormalNumbersFill a) {
  const std::int64_t end = a.first_element + a.n;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t counter =
           a.first_element / 4 + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       counter * 4 < end; counter += stride) {
    const auto c = static_cast<std::uint64_t>(counter);
    const auto words =
        philox({static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c >> 32),
                static_cast<std::uint32_t>(a.key), static_cast<std::uint32_t>(a.key >> 32)},
               {static_cast<std::uint32_t>(a.seed), static_cast<std::uint32_t>(a.seed >> 32)});
    F32 normal[4];
    NormalNumbers<OneLane>::normal_pair({words[0]}, {words[1]}, normal[0], normal[1]);
    NormalNumbers<OneLane>::normal_pair({words[2]}, {words[3]}, normal[2], normal[3]);
    for (int j = 0; j < 4; ++j) {
      const std::int64_t e = counter * 4 + j;
      if (e < a.first_element || e >= end) continue;
      a.out[e - a.first_element] = fmaf(normal[j].x, a.deviation, a.mean);
    }
  }
}

}  // namespace

template <>
void run(Context& c, const FillNormal& a, cudaStream_t stream) {
  DS_ASSERT(a.out.dtype == DType::f32);
  const NormalNumbersFill fill{.out = static_cast<float*>(a.out.data),
                               .n = a.out.elements(),
                               .first_element = a.first_element,
                               .mean = a.mean,
                               .deviation = a.standard_deviation,
                               .seed = a.seed,
                               .key = a.key};
  const std::int64_t counters = ceil_div(fill.first_element + fill.n, 4) - fill.first_element / 4;
  const std::int64_t blocks = ceil_div(counters, kThreads);
  const std::int64_t most = std::int64_t{8} * c.facts.multiprocessors;
  check(launch(fill_normal_kernel, {static_cast<unsigned>(std::min(blocks, most)), kThreads},
               stream, fill),
        "FillNormal");
}

}  // namespace ds::cuda
