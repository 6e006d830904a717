// What this machine has for CUDA, for people and for checks.
#pragma once

#include <string>

#include "engine/device/cuda/device_choice.h"

namespace ds::cuda {

VisibleDevices visible_devices();

/// Devices that this process may use (CUDA_VISIBLE_DEVICES counts); 0 where there is no driver.
int device_count();

/// "CUDA, NVIDIA H200, 139 GiB, compute capability 9.0, driver 580.82.07 (13.0), runtime 13.0".
std::string describe_device(int device);

/// One line an item: driver, runtime, devices, libraries. Never throws.
std::string report();

}  // namespace ds::cuda
