// launch(): starts every kernel, so that errors are returned and the emulation sees every launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace ds::cuda {

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;  // for dynamic_shared<T>()
};

/// Kernels that need more must opt in. Without opt-in a kernel has 48 KiB less its static shared
/// memory, whose size is not known here.
inline constexpr std::size_t kSharedBytesWithoutAsking = 16 << 10;

/// Launches a kernel; does nothing for an empty grid. Errors: the runtime's code, at once.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Arguments&&... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return cudaSuccess;
  if (shape.shared_bytes > kSharedBytesWithoutAsking) {
    const cudaError_t asked = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(shape.shared_bytes));
    if (asked != cudaSuccess) return asked;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace ds::cuda
