// The CPU backend's operations, one family per file. make_backend.cpp connects them to Kernels.
#pragma once

#include "engine/kernels/cpu/context.h"
#include "engine/kernels/kernels.h"

namespace ds::cpu {

/// Each op of KernelOp is a specialization in its family's file.
template <class Op>
void run(const Context& c, const Op& a);

/// Return the scratch of each family's largest operation. The workspace is the largest of these.
std::size_t linear_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t attention_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t head_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t layer_norm_scratch_bytes(const Kernels::Extents& e);
std::size_t rotary_scratch_bytes(const Context& c, const Kernels::Extents& e);
std::size_t head_norm_scratch_bytes(const Context& c, const Kernels::Extents& e);

/// Returns the best rate of several plain products of `type` on the whole pool, in FLOP/s.
double measure_matrix_peak(const Context& c, DType type);

}  // namespace ds::cpu
