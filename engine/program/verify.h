// What verify() is made of.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// The operands fit their op: number, types and shapes of engine/kernels/kernels.h.
void verify_shapes(const Program& program, const Op& op);

}  // namespace ds
