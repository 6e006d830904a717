// A CUDA device behind the Device seam.
#pragma once

#include <memory>

#include "engine/device/device.h"

namespace ds::cuda {

/// The device of `local_rank` among the `local_ranks` of this node, made current in the calling
/// thread, which is the one that issues. Errors: Error{config}: no such device, too old a driver or
/// device; with what is there and what to do.
std::unique_ptr<Device> make_cuda_device(int local_rank, int local_ranks = 1);

}  // namespace ds::cuda
