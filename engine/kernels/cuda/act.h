// Act: the types of activations that kernels are compiled for.
#pragma once

#include <cstdint>

namespace ds::cuda {

enum class Act : std::uint8_t { f32, bf16, f16 };

}  // namespace ds::cuda
