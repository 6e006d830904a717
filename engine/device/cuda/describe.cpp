// Queries the driver and the runtime for descriptions of devices.
#include "engine/device/cuda/describe.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/libraries.h"

namespace ds::cuda {
namespace {

std::string driver_text(int version) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string release = driver_release(text.str());
  return release.empty() ? fmt::format("for CUDA {}", cuda_version_text(version))
                         : fmt::format("{} ({})", release, cuda_version_text(version));
}

/// Returns a text such as "NVIDIA H200, 139 GiB, compute capability 9.0".
std::string device_text(int device) {
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return fmt::format("cannot be queried: {}", cudaGetErrorString(status));
  }
  return fmt::format("{}, {} GiB, compute capability {}.{}", properties.name,
                     properties.totalGlobalMem >> 30, properties.major, properties.minor);
}

std::string device_report() {
  const VisibleDevices visible = visible_devices();
  std::string text = fmt::format("driver: {}\nruntime: CUDA {}\n",
                                 visible.driver == 0 ? "none" : driver_text(visible.driver),
                                 cuda_version_text(visible.runtime));
  if (const std::string why = why_none(visible); !why.empty())
    return text + fmt::format("devices: {}\n", why);
  for (int device = 0; device < visible.count; ++device)
    text += fmt::format("device {}: {}\n", device, device_text(device));
  return text;
}

}  // namespace

VisibleDevices visible_devices() {
  // The driver reads this when it is first called, so it must be set before. The user's value wins.
  // A stream that waits for a host thread must not block another one in the same hardware queue.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  VisibleDevices visible;
  cudaDriverGetVersion(&visible.driver);
  cudaRuntimeGetVersion(&visible.runtime);
  const cudaError_t status = cudaGetDeviceCount(&visible.count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    visible.count = 0;
    visible.failure = cudaGetErrorString(status);
  }
  if (const char* const value = std::getenv("CUDA_VISIBLE_DEVICES"); value != nullptr)
    visible.variable = value;
  return visible;
}

int device_count() {
  const VisibleDevices visible = visible_devices();
  return why_none(visible).empty() ? visible.count : 0;
}

std::string describe_device(int device) {
  const VisibleDevices visible = visible_devices();
  return fmt::format("CUDA, {}, driver {}, runtime {}", device_text(device),
                     driver_text(visible.driver), cuda_version_text(visible.runtime));
}

std::string report() { return device_report() + library_report(); }

}  // namespace ds::cuda
