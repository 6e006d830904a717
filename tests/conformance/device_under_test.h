// The device that device_test.cpp tests; each program defines it.
#pragma once

#include "engine/device/device.h"

namespace ds::conformance {

Device& device_under_test();

}  // namespace ds::conformance
