// Dropout of activations, with the bits of the CPU (engine/kernels/cpu/dropout.cpp).
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/dropout.cuh"
#include "engine/kernels/cuda/ops.h"
#include "engine/tensor/philox.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostOfGrid = 65535;  // limit of a grid's second axis

/// Numbers of a dropout that are the same for all elements.
struct DropoutNumbers {
  std::uint32_t key0 = 0, key1 = 0;
  float threshold = 0;  // rate * 2^24
  float scale = 1;      // 1 / (1 - rate)
};

/// Processes elements first + 16 * j + i of a sample, j < 4, i < kCount, which kCount counters
/// decide.
template <class T, int kCount>
__device__ void drop_strip(const DropoutNumbers& d, std::uint64_t sample, std::int64_t first,
                           const T* in, T* out) {
  float x[4][kCount];
#pragma unroll
  for (int j = 0; j < 4; ++j) load<kCount>(in + first + 16 * j, x[j]);
  const auto counter = static_cast<std::uint64_t>(first / 64 * 16 + first % 16);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const auto words =
        dropout_words(d.key0, d.key1, sample, counter + static_cast<std::uint64_t>(i));
#pragma unroll
    for (int j = 0; j < 4; ++j) x[j][i] = drop(words[j], d.threshold, d.scale, x[j][i]);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) store<kCount>(out + first + 16 * j, x[j]);
}

/// blockIdx.y: the sample. A thread processes a strip of a group of 64 elements: kCount columns of
/// its 4 rows of 16. `out` may be `in`.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(DropoutNumbers d, const std::int64_t* samples, std::int64_t each, const T* in,
                   T* out) {
  constexpr int kStrips = 16 / kCount;
  const auto sample = static_cast<std::uint64_t>(samples[blockIdx.y]);
  in += static_cast<std::int64_t>(blockIdx.y) * each;
  out += static_cast<std::int64_t>(blockIdx.y) * each;
  const std::int64_t strips = (each + 63) / 64 * kStrips;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t s = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; s < strips;
       s += stride) {
    const std::int64_t group = s / kStrips * 64, first = group + s % kStrips * kCount;
    if (group + 64 <= each) {
      drop_strip<T, kCount>(d, sample, first, in, out);
      continue;
    }
    for (int i = 0; i < kCount; ++i) {  // the sample's last group may be short
      const auto words = dropout_words(
          d.key0, d.key1, sample, static_cast<std::uint64_t>(group / 4 + s % kStrips * kCount + i));
      for (int j = 0; j < 4; ++j) {
        const std::int64_t e = first + i + 16 * j;
        if (e < each) out[e] = from_float<T>(drop(words[j], d.threshold, d.scale, to_float(in[e])));
      }
    }
  }
}

template <class T, int kCount>
cudaError_t dropout(const Launch& l, const DropoutNumbers& numbers, const std::int64_t* samples,
                    std::int64_t sample_count, std::int64_t each, const T* in, T* out) {
  const std::int64_t strips = (each + 63) / 64 * (16 / kCount);
  const auto count = static_cast<unsigned>(sample_count);
  const int waves = static_cast<int>((8 + sample_count - 1) / sample_count);
  return launch(dropout_kernel<T, kCount>,
                {dim3(grid_of(strips, kThreads, l.multiprocessors, waves), count), kThreads},
                l.stream, numbers, samples, each, in, out);
}

}  // namespace

template <>
void run(Context& c, const Dropout& a, cudaStream_t stream) {
  const std::int64_t n = a.in.elements(), samples = a.draw.samples.elements();
  DS_ASSERT(samples > 0 && samples <= kMostOfGrid && n % samples == 0 && a.out.elements() == n);
  DS_ASSERT(a.draw.samples.dtype == DType::i64 && a.draw.rate > 0 && a.draw.rate <= 1);
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  // Same key as cpu::dropout_key().
  const auto words =
      philox({low(a.draw.key), high(a.draw.key), low(a.draw.step), high(a.draw.step)},
             {low(a.draw.seed), high(a.draw.seed)});
  const DropoutNumbers numbers{.key0 = words[0],
                               .key1 = words[1],
                               .threshold = a.draw.rate * 0x1p24F,
                               .scale = 1.0F / (1.0F - a.draw.rate)};
  const auto* sample_numbers = static_cast<const std::int64_t*>(a.draw.samples.data);
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    constexpr int kCount = kPackOf<T>;
    const Launch l = launch_on(c, stream);
    const auto* from = static_cast<const T*>(a.in.data);
    auto* to = static_cast<T*>(a.out.data);
    const std::int64_t each = n / samples;
    const bool wide = all_aligned(from, to) && each % kCount == 0;
    return wide ? dropout<T, kCount>(l, numbers, sample_numbers, samples, each, from, to)
                : dropout<T, 1>(l, numbers, sample_numbers, samples, each, from, to);
  };
  check(with_act(act_of(a.in.dtype), of_type), "Dropout");
}

}  // namespace ds::cuda
