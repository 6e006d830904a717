// How rows are shared out, and the blocks in which weight gradients of norms are summed.
#pragma once

#include <algorithm>

#include "engine/kernels/cpu/context.h"

namespace ds::cpu {

// Weight gradients of norms are summed in blocks of rows, and the blocks in order. Arithmetic.
inline constexpr std::int64_t kNormBlocks = 64;
inline constexpr std::int64_t kSmallestNormBlock = 32;
inline constexpr std::int64_t kNormColumnsPerTask = 256;

inline std::int64_t norm_block_rows(std::int64_t rows) {
  return std::max(kSmallestNormBlock, ceil_div(rows, kNormBlocks));
}

/// body(first, count) over [0, n) in pieces.
template <class Body>
void in_pieces(const Context& c, std::int64_t n, std::int64_t piece, Body body) {
  c.pool.parallel_for(ceil_div(n, piece), [&](std::int64_t task, int) {
    const std::int64_t first = task * piece;
    body(first, std::min(piece, n - first));
  });
}

}  // namespace ds::cpu
