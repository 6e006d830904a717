// What verify() is made of.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// The operands fit their op: number, types and shapes of engine/kernels/ops_*.h.
void verify_shapes(const Program& program, const Op& op);

/// The same of an op that models or their gradients are made of; false: it is another one.
bool verify_model_op(const Program& program, const Op& op);

}  // namespace ds
