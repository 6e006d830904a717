// Floating-point operations that a program runs, recomputation included.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// Of the matrix products alone: 2 for each multiplication with its addition; attention counted in
/// full, as if it were not causal, and its backward without the scores that it computes again (the
/// convention of engine/monitor/model_flops.h). Pure.
double flops_of(const Program& program);

}  // namespace ds
