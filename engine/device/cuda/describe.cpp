// Asking the driver and the runtime.
#include "engine/device/cuda/describe.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/libraries.h"

namespace ds::cuda {
namespace {

/// 13000 is "13.0".
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

namespace {

std::string device_report() {
  int driver = 0, runtime = 0, count = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::string text =
      driver == 0 ? "driver: none\n" : fmt::format("driver: for CUDA {}\n", version_text(driver));
  text += fmt::format("runtime: {}\n", version_text(runtime));
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return text + fmt::format("devices: no CUDA device: {}\n", cudaGetErrorString(status));
  }
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    text += fmt::format("device {}: {}, {:.0f} GiB, compute capability {}.{}\n", device,
                        properties.name, static_cast<double>(properties.totalGlobalMem) / (1 << 30),
                        properties.major, properties.minor);
  }
  return text;
}

}  // namespace

std::string report() { return device_report() + library_report(); }

}  // namespace ds::cuda
