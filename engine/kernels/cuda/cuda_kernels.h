// The kernels seam on one CUDA device.
#pragma once

#include <memory>
#include <string>

#include "engine/kernels/kernels.h"

namespace ds::cuda {

/// Of the calling thread's current device. `cache_dir` is where chosen algorithms are kept; empty:
/// nowhere. `fused_epilogues`: as in AcceleratorOptions. Errors: Error{config}: a library is
/// missing.
std::unique_ptr<Kernels> make_cuda_kernels(const std::string& cache_dir, bool fused_epilogues);

/// As Kernels::workspace_bytes(); needs no device.
std::size_t workspace_bytes(const Kernels::Extents& extents);

}  // namespace ds::cuda
