// CUDA's error codes as errors for people.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "engine/base/error.h"

namespace ds::cuda {

/// What an error code means for the job: the message names `what` (an operation or an op's path),
/// CUDA's own name and text; the hint says what to do where that is known. Pure.
[[nodiscard]] Error error_of(cudaError_t status, std::string_view what);

[[noreturn]] void raise(cudaError_t status, std::string_view what);

/// Throws unless `status` is cudaSuccess. What a failed call leaves behind is cleared, so that it
/// is not reported a second time; errors that end the context come back by themselves.
inline void check(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) [[unlikely]]
    raise(status, what);
}

}  // namespace ds::cuda
