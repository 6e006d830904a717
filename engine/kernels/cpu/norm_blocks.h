// Distribution of rows over tasks, and the blocks in which weight gradients of norms are summed.
#pragma once

#include <algorithm>

#include "engine/kernels/cpu/context.h"

namespace ds::cpu {

// Weight gradients of norms are summed within blocks of rows, then over the blocks in order. Both
// constants decide bits.
inline constexpr std::int64_t kNormBlocks = 64;
inline constexpr std::int64_t kSmallestNormBlock = 32;
inline constexpr std::int64_t kNormColumnsPerTask = 256;

inline std::int64_t norm_block_rows(std::int64_t rows) {
  return std::max(kSmallestNormBlock, ceil_div(rows, kNormBlocks));
}

/// Calls body(first, count) for pieces of [0, n).
template <class Body>
void in_pieces(const Context& c, std::int64_t n, std::int64_t piece, Body body) {
  c.pool.parallel_for(ceil_div(n, piece), [&](std::int64_t task, int) {
    const std::int64_t first = task * piece;
    body(first, std::min(piece, n - first));
  });
}

}  // namespace ds::cpu
