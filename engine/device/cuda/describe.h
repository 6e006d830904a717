// Describes this machine's CUDA driver, devices and libraries, for people and for checks.
#pragma once

#include <string>

#include "engine/device/cuda/device_choice.h"

namespace ds::cuda {

VisibleDevices visible_devices();

/// Returns how many devices this process may use (CUDA_VISIBLE_DEVICES applies); 0 without a
/// driver.
int device_count();

/// Returns "CUDA, NVIDIA H200, 139 GiB, compute capability 9.0, driver 580.82.07 (13.0), runtime
/// 13.0".
std::string describe_device(int device);

/// Returns one line per item: driver, runtime, devices, libraries. Never throws.
std::string report();

}  // namespace ds::cuda
