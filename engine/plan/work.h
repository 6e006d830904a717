// Floating-point operations that a program runs, recomputation included.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// Counts the operations of matrix products: 2 for each multiplication with its addition. The head
/// counts `target_share` of its rows, those that have a target. Attention
/// counts what the causal mask and the window leave: of as many queries as keys the half. Documents
/// are data and count as one. Its backward pass does not count the scores that it computes again.
/// Source: PaLM, arXiv:2204.02311, appendix B, which counts masked attention too. Pure.
double flops_of(const Program& program, double target_share = 1);

}  // namespace ds
