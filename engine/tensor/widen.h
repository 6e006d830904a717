// widen(): any type of weights as f32.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "engine/base/error.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Fills `into` with the elements at `from`, which have the type f32, bf16 or f16. Exact.
inline void widen(const std::byte* from, DType dtype, std::span<float> into) {
  if (dtype == DType::f32) {
    std::memcpy(into.data(), from, into.size_bytes());
    return;
  }
  DS_ASSERT(dtype == DType::bf16 || dtype == DType::f16);
  for (float& value : into) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof(bits));
    value = dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
    from += sizeof(bits);
  }
}

}  // namespace ds
