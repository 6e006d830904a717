// Records launches as CUDA graphs.
#pragma once

#include <memory>

#include "engine/base/function_ref.h"
#include "engine/device/device.h"

namespace ds::cuda {

/// Returns what `launch` puts on `stream`, as a graph. `earlier` (or null) is a graph of
/// record_graph() whose arguments are updated if the kernels are the same; that takes a fraction of
/// the time of a new one. Errors: Error{system} if some of it cannot be captured.
std::unique_ptr<Recording> record_graph(Stream& stream, FunctionRef<void()> launch,
                                        std::unique_ptr<Recording> earlier);

}  // namespace ds::cuda
