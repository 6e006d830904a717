// The CUDA backend's operations, one family per file. cuda_kernels.cpp connects them to Kernels.
#pragma once

#include "engine/kernels/cuda/context.h"

namespace ds::cuda {

/// Order: each returns after launching on `stream`. Errors: Error{system}: a launch or a library
/// failed.
void run(Context& c, const Embed& a, cudaStream_t stream);
void run(Context& c, const EmbedBackward& a, cudaStream_t stream);
void run(Context& c, const LayerNorm& a, cudaStream_t stream);
void run(Context& c, const LayerNormBackward& a, cudaStream_t stream);
void run(Context& c, const RmsNorm& a, cudaStream_t stream);
void run(Context& c, const RmsNormBackward& a, cudaStream_t stream);
void run(Context& c, const Linear& a, cudaStream_t stream);
void run(Context& c, const LinearBackwardInput& a, cudaStream_t stream);
void run(Context& c, const LinearBackwardWeight& a, cudaStream_t stream);
void run(Context& c, const Gelu& a, cudaStream_t stream);
void run(Context& c, const GeluBackward& a, cudaStream_t stream);
void run(Context& c, const SwiGlu& a, cudaStream_t stream);
void run(Context& c, const SwiGluBackward& a, cudaStream_t stream);
void run(Context& c, const Rotary& a, cudaStream_t stream);
void run(Context& c, const RelativeBias& a, cudaStream_t stream);
void run(Context& c, const RelativeBiasBackward& a, cudaStream_t stream);
void run(Context& c, const Dropout& a, cudaStream_t stream);
void run(Context& c, const Attention& a, cudaStream_t stream);
void run(Context& c, const AttentionBackward& a, cudaStream_t stream);
void run(Context& c, const HeadLoss& a, cudaStream_t stream);
void run(Context& c, const HeadLossBackward& a, cudaStream_t stream);
void run(Context& c, const Logits& a, cudaStream_t stream);
void run(Context& c, const Add& a, cudaStream_t stream);
void run(Context& c, const SquaredSum& a, cudaStream_t stream);
void run(Context& c, const LeafSquares& a, cudaStream_t stream);
void run(Context& c, const OptimizerUpdate& a, cudaStream_t stream);
void run(Context& c, const FillNormal& a, cudaStream_t stream);
void run(Context& c, const Cast& a, cudaStream_t stream);

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
std::size_t squared_sum_scratch_bytes(const Kernels::Extents& e);

/// Returns the best rate of several plain products of `type`, in FLOP/s. Waits for the device.
double measure_matrix_peak(Context& c, DType type, cudaStream_t stream);

}  // namespace ds::cuda
