// The checks of operands that verify() uses.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// Asserts that the operands fit their op: number, types and shapes of engine/kernels/ops_*.h.
void verify_shapes(const Program& program, const Op& op);

/// Checks ops of models and of their gradients in the same way; returns false for other ops.
bool verify_model_op(const Program& program, const Op& op);

}  // namespace ds
