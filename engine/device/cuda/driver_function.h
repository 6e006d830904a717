// Looks up a function of the driver, with the name that each CUDA has for that.
#pragma once

#include <cuda_runtime_api.h>

namespace ds::cuda {

/// Returns in `function` the driver's function in its form of CUDA 12. The emulation and CUDA 12.5
/// and later ask for a version; CUDA 12.4 takes its own.
inline cudaError_t find_driver_function(const char* symbol, void** function,
                                        cudaDriverEntryPointQueryResult* found) {
#if CUDART_VERSION >= 12050
  return cudaGetDriverEntryPointByVersion(symbol, function, 12000, cudaEnableDefault, found);
#else
  return cudaGetDriverEntryPoint(symbol, function, cudaEnableDefault, found);
#endif
}

}  // namespace ds::cuda
