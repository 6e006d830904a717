// The CUDA backend's operations, one family per file. cuda_kernels.cpp connects them to Kernels.
#pragma once

#include "engine/kernels/cuda/context.h"

namespace ds::cuda {

/// Launches an op on `stream`. Each op of KernelOp is a specialization in its family's file.
/// Errors: Error{system}: a launch or a library failed.
template <class Op>
void run(Context& c, const Op& a, cudaStream_t stream);

/// out = in * scale, rounded once.   Shapes: in, out (n) act.   Order: out may share in's memory.
void run_scale(const Context& c, const ConstTensor& in, float scale, const Tensor& out,
               cudaStream_t stream);

/// Create the state that these families keep. Called once, after all of `c` before `workspace` is
/// set. Errors: Error{config}: a library is missing.
std::unique_ptr<Part> make_products(const Context& c);
std::unique_ptr<Part> make_attention(const Context& c);

/// Return the scratch of each family's largest operation. The workspace is the largest of these.
/// They only compute and need no device.
std::size_t linear_scratch_bytes(const Kernels::Extents& e);
std::size_t head_scratch_bytes(const Kernels::Extents& e);
std::size_t attention_scratch_bytes(const Kernels::Extents& e);
std::size_t embed_scratch_bytes(const Kernels::Extents& e);
std::size_t norm_scratch_bytes(const Kernels::Extents& e);

/// Returns the best rate of several plain products of `type`, in FLOP/s. Waits for the device.
double measure_matrix_peak(Context& c, DType type, cudaStream_t stream);

}  // namespace ds::cuda
