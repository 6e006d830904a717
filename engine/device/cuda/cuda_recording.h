// Records launches as CUDA graphs.
#pragma once

#include <memory>

#include "engine/base/function_ref.h"
#include "engine/device/device.h"

namespace ds::cuda {

/// Returns what `launch` puts on `stream`, as a graph. Errors: Error{system} if some of it cannot
/// be captured.
std::unique_ptr<Recording> record_graph(Stream& stream, FunctionRef<void()> launch);

}  // namespace ds::cuda
