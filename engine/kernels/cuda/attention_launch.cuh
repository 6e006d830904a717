// Selects the instance of an attention kernel by element type and padded head size.
#pragma once

#include <type_traits>

#include "engine/kernels/cuda/attention_args.h"
#include "engine/kernels/cuda/attention_tiles.cuh"

namespace ds::cuda {

/// Calls launch(Format{}).
template <class Launch>
cudaError_t with_format(Act element, const Launch& launch) {
  switch (element) {
    case Act::f32:
      return launch(F32Format{});
    case Act::bf16:
      return launch(Bf16Format{});
    case Act::f16:
      return launch(F16Format{});
  }
  return cudaErrorInvalidValue;
}

/// Calls launch(Format{}, integral_constant<int, kD>{}) with kD >= head_size.
template <class Launch>
cudaError_t with_format_and_depth(Act element, std::int32_t head_size, const Launch& launch) {
  return with_format(element, [&](auto format) {
    if (head_size <= 64) return launch(format, std::integral_constant<int, 64>{});
    if (head_size <= 128) return launch(format, std::integral_constant<int, 128>{});
    if (head_size <= 256) return launch(format, std::integral_constant<int, 256>{});
    return cudaErrorInvalidValue;
  });
}

}  // namespace ds::cuda
