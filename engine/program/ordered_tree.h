// Fixed binary tree of ordered sums: which partial sums a rank may form alone, and in which order
// they are added. Pure.
//
// The tree over V leaves is that of a binary counter. Leaves are pushed in index order; two
// subtrees of equal level at the top of the stack merge at once (left + right); at the end the rest
// folds from right to left. Seen from the root: node (level, index) covers leaves [index << level,
// (index + 1) << level) cut at V. It is the sum of its left and its right child, or its left child
// alone where the right one is empty. So the tree depends only on V, and any set of ranks that
// holds the leaves forms the same sum, bit for bit.
#pragma once

#include <span>
#include <vector>

namespace ds {

/// A node of the tree over V leaves. Of several nodes that cover the same leaves (cut at V), the
/// highest is used.
struct Subtree {
  int level = 0;
  int index = 0;
  [[nodiscard]] int first_leaf() const { return index << level; }
  /// One past the last leaf.
  [[nodiscard]] int end_leaf(int leaves) const;
  friend bool operator==(const Subtree&, const Subtree&) = default;
};

/// Returns the fewest subtrees that cover leaves [first, last) of `leaves`, in leaf order.
std::vector<Subtree> maximal_subtrees(int first, int last, int leaves);

/// value[dst] = value[dst] + value[src]. dst covers the leaves left of src; src is free afterwards.
struct Merge {
  int dst = 0;
  int src = 0;
  friend bool operator==(const Merge&, const Merge&) = default;
};

/// What to do with one arrival: put it into stack slot `slot`, then do the merges in order.
struct Arrival {
  int slot = 0;
  std::vector<Merge> merges;  // dst and src are stack slots
};

/// How to sum subtrees that arrive in leaf order, with the smallest stack.
struct MergePlan {
  std::vector<Arrival> arrivals;  // one per subtree that arrives
  std::vector<Subtree> roots;     // at the end, root i lies in slot i
  int slots = 0;                  // most slots in use at once
};

/// Plans the merges. `arriving` is ascending by leaf and disjoint; gaps are allowed (several roots
/// remain then).
MergePlan plan_merges(std::span<const Subtree> arriving, int leaves);

/// The merges of a slice's owner, which holds all ranks' roots in memory and sums them in place.
struct FinishPlan {
  /// dst and src number the roots of all ranks: rank after rank, each rank's in leaf order.
  std::vector<Merge> merges;
  int result = 0;  // index of the whole sum at the end
};

/// Plans the owner's merges. `roots_of_ranks` together cover every leaf exactly once.
FinishPlan plan_finish(std::span<const std::vector<Subtree>> roots_of_ranks, int leaves);

}  // namespace ds
