// Creates the Device of a CUDA GPU.
#pragma once

#include <memory>

#include "engine/device/device.h"

namespace ds::cuda {

/// Returns the device of `local_rank` among the `local_ranks` of this node and makes it current in
/// the calling thread, which is the one that issues work. Errors: Error{config}: no such device, or
/// driver or device too old; the message says what was found and the hint what to do.
std::unique_ptr<Device> make_cuda_device(int local_rank, int local_ranks = 1);

}  // namespace ds::cuda
