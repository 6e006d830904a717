// The tree by which a large group combines values: N - 1 messages up, N - 1 down, 2 log2(N) deep.
// Pure.
#pragma once

#include <bit>

namespace ds::comm {

/// Returns 2^k: rank r combines the values of ranks r to r + 2^k - 1. Its children are r + 1, r +
/// 2, r + 4, ... r + 2^(k-1), as far as they exist; each stands for the ranks up to the next one.
inline int width_at(int rank, int size) {
  return static_cast<int>(rank == 0 ? std::bit_ceil(static_cast<unsigned>(size))
                                    : static_cast<unsigned>(rank & -rank));
}
/// Returns the rank that gets the combined value of `rank`, which is not 0.
inline int parent_of(int rank) { return rank & (rank - 1); }

}  // namespace ds::comm
