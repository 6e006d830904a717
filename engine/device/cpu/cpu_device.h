// Creates the CPU's Device: memory by mmap, streams that only order.
#pragma once

#include <memory>
#include <string>

#include "engine/device/device.h"

namespace ds {

std::unique_ptr<Device> make_cpu_device(std::string description);

}  // namespace ds
