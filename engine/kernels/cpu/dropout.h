// dropout_key(): converts a DropoutDraw to the numbers that the vector loops use.
#pragma once

#include "engine/kernels/cpu/vector_kernels.h"
#include "engine/kernels/kernels.h"

namespace ds::cpu {

/// Returns the random key, threshold and scale of sample `index` of the micro-batch.
DropoutKey dropout_key(const DropoutDraw& draw, std::int64_t index);

}  // namespace ds::cpu
