// Floating-point operations that a program runs, recomputation included.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// Counts the operations of matrix products: 2 for each multiplication with its addition. Attention
/// counts the half that the causal mask leaves; its backward pass does not count the scores that it
/// computes again (the convention of engine/monitor/model_flops.h). Pure.
double flops_of(const Program& program);

}  // namespace ds
