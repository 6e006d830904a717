// CUDA graphs behind the seam's recordings.
#pragma once

#include <memory>

#include "engine/base/function_ref.h"
#include "engine/device/device.h"

namespace ds::cuda {

/// What `launch` puts on `stream`, as a graph. Errors: Error{system} when something in it cannot be
/// captured.
std::unique_ptr<Recording> record_graph(Stream& stream, FunctionRef<void()> launch);

}  // namespace ds::cuda
