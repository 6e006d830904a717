// The device that device_test.cpp is about; each program says which.
#pragma once

#include "engine/device/device.h"

namespace ds::conformance {

Device& device_under_test();

}  // namespace ds::conformance
