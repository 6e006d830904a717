// What this machine has for CUDA, for people and for checks.
#pragma once

#include <string>

namespace ds::cuda {

/// Devices that this process may use (CUDA_VISIBLE_DEVICES counts); 0 where there is no driver.
int device_count();

/// One line an item: driver, runtime, devices. Never throws.
std::string report();

}  // namespace ds::cuda
