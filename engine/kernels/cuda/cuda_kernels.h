// Creates the Kernels of one CUDA device.
#pragma once

#include <memory>
#include <string>

#include "engine/kernels/kernels.h"

namespace ds::cuda {

/// Returns kernels for the calling thread's current device. `cache_dir` stores chosen algorithms;
/// empty: nothing is stored. `fused_epilogues`: as in AcceleratorOptions. Errors: Error{config}: a
/// library is missing.
std::unique_ptr<Kernels> make_cuda_kernels(const std::string& cache_dir, bool fused_epilogues);

/// Same as Kernels::workspace_bytes(), but needs no device.
std::size_t workspace_bytes(const Kernels::Extents& extents);

}  // namespace ds::cuda
