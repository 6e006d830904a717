// The CPU backend's operations, one family per file. make_backend.cpp connects them to Kernels.
#pragma once

#include "engine/kernels/cpu/context.h"
#include "engine/kernels/kernels.h"

namespace ds::cpu {

void run(const Context& c, const Embed& a);
void run(const Context& c, const EmbedBackward& a);
void run(const Context& c, const LayerNorm& a);
void run(const Context& c, const LayerNormBackward& a);
void run(const Context& c, const RmsNorm& a);
void run(const Context& c, const RmsNormBackward& a);
void run(const Context& c, const SwiGlu& a);
void run(const Context& c, const SwiGluBackward& a);
void run(const Context& c, const Rotary& a);
void run(const Context& c, const RelativeBias& a);
void run(const Context& c, const RelativeBiasBackward& a);
void run(const Context& c, const Linear& a);
void run(const Context& c, const LinearBackwardInput& a);
void run(const Context& c, const LinearBackwardWeight& a);
void run(const Context& c, const Gelu& a);
void run(const Context& c, const GeluBackward& a);
void run(const Context& c, const Dropout& a);
void run(const Context& c, const Attention& a);
void run(const Context& c, const AttentionBackward& a);
void run(const Context& c, const HeadLoss& a);
void run(const Context& c, const HeadLossBackward& a);
void run(const Context& c, const Logits& a);
void run(const Context& c, const Add& a);
void run(const Context& c, const SquaredSum& a);
void run(const Context& c, const LeafSquares& a);
void run(const Context& c, const OptimizerUpdate& a);
void run(const Context& c, const FillNormal& a);
void run(const Context& c, const Cast& a);

/// Return the scratch of each family's largest operation. The workspace is the largest of these.
std::size_t linear_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t attention_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t head_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t layer_norm_scratch_bytes(const Kernels::Extents& e);
std::size_t rotary_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t squared_sum_scratch_bytes(const Kernels::Extents& e);

/// Returns the best rate of several plain products of `type` on the whole pool, in FLOP/s.
double measure_matrix_peak(const Context& c, DType type);

}  // namespace ds::cpu
