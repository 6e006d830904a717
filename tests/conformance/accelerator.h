// The plugin's device as a subject of the tests.
#pragma once

#include <memory>

#include "engine/kernels/kernels.h"

namespace ds::conformance {

/// Opens the plugin; fails the test where it has no device.
void require_accelerator();

/// Made once and never destroyed: its library stays open to the end of the process.
std::shared_ptr<Backend> accelerator_backend();

}  // namespace ds::conformance
