// Random words of a dropout and which elements it keeps, as engine/kernels/ops_attention.h defines.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/tensor/philox.h"

namespace ds::cuda {

/// Returns the words of counter `counter` of one sample. Word j belongs to element
/// counter / 16 * 64 + 16 * j + counter % 16.
__device__ inline std::array<std::uint32_t, 4> dropout_words(std::uint32_t key0, std::uint32_t key1,
                                                             std::uint64_t sample,
                                                             std::uint64_t counter) {
  return philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                 static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(sample >> 32)},
                {key0, key1});
}

/// Returns x scaled if the upper 24 bits of its word reach the threshold, else 0 (also if x is not
/// finite).
__device__ inline float drop(std::uint32_t word, float threshold, float scale, float x) {
  return static_cast<float>(word >> 8) < threshold ? 0.0F : x * scale;
}

}  // namespace ds::cuda
