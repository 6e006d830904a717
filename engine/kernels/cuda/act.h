// Act: types of activations for .cu files, which cannot compile engine/tensor/tensor.h.
#pragma once

#include <cstdint>

namespace ds::cuda {

enum class Act : std::uint8_t { f32, bf16, f16 };

}  // namespace ds::cuda
