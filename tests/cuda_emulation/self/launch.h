// Helpers of the emulation's own tests: kernel launches and device memory.
#pragma once

#include <cuda_emulation.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace ds::test {

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared,
                   cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

/// Device memory that host code reads: the emulation's device memory is the host's.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) {
    cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  [[nodiscard]] T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

}  // namespace ds::test
