// From what a dropout is drawn by to what the loops need.
#pragma once

#include "engine/kernels/cpu/vector_kernels.h"
#include "engine/kernels/kernels.h"

namespace ds::cpu {

/// The random numbers of sample `index` of the micro-batch.
DropoutKey dropout_key(const DropoutDraw& draw, std::int64_t index);

}  // namespace ds::cpu
