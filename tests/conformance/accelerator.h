// The accelerator under test: the plugin's device.
#pragma once

#include <memory>

#include "engine/kernels/kernels.h"

namespace ds::conformance {

/// Opens the plugin. Fails the test if it has no device.
void require_accelerator();

/// Returns the backend, made once and never destroyed: its library stays open until the process
/// ends.
std::shared_ptr<Backend> accelerator_backend();

}  // namespace ds::conformance
