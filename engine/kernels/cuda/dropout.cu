// Dropout of activations, with the bits of the CPU (engine/kernels/cpu/dropout.cpp).
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/dropout.cuh"
#include "engine/kernels/cuda/launchers.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;

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

cudaError_t launch_dropout(const Launch& l, Act act, const DropoutNumbers& numbers,
                           const std::int64_t* samples, std::int64_t sample_count,
                           std::int64_t elements_a_sample, const void* in, void* out) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    constexpr int kCount = kPackOf<T>;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    const bool wide = all_aligned(from, to) && elements_a_sample % kCount == 0;
    return wide ? dropout<T, kCount>(l, numbers, samples, sample_count, elements_a_sample, from, to)
                : dropout<T, 1>(l, numbers, samples, sample_count, elements_a_sample, from, to);
  });
}

}  // namespace ds::cuda
