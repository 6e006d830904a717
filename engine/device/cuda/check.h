// Converts CUDA's error codes to Error with hints.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "engine/base/error.h"

namespace ds::cuda {

/// Returns the error of a status. The message names `what` (an operation or an op's path) and
/// CUDA's name and text; the hint says what to do, where known. Pure.
[[nodiscard]] Error error_of(cudaError_t status, std::string_view what);

[[noreturn]] void raise(cudaError_t status, std::string_view what);

/// Throws unless `status` is cudaSuccess. Clears CUDA's record of the error, so that it is not
/// reported a second time; errors that end the context reappear by themselves.
inline void check(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) [[unlikely]]
    raise(status, what);
}

}  // namespace ds::cuda
