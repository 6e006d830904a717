// leaf_tree_sum(): the order of the gradient norm's sum, leaves of 1024 elements and then a fixed
// binary tree over the leaves.
#pragma once

#include <bit>
#include <cstdint>

namespace ds {

/// Elements of a leaf. Tensors start at a leaf and shards are cut at leaves, so each leaf has one
/// owner.
inline constexpr std::int64_t kLeafElements = 1024;

/// Returns the sum of leaf(first) ... leaf(first + count - 1). The left subtree takes the largest
/// power of two below count, the right one the rest. The tree depends on count alone, so any
/// aligned split of the leaves gives the same bits.
template <class Leaf>
constexpr double leaf_tree_sum(std::int64_t first, std::int64_t count, const Leaf& leaf) {
  if (count == 0) return 0;
  if (count == 1) return leaf(first);
  const auto left =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
  return leaf_tree_sum(first, left, leaf) + leaf_tree_sum(first + left, count - left, leaf);
}

}  // namespace ds
