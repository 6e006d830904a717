// Fixed binary tree of ordered sums. Everything follows from one rule: a node is its left child
// plus its right one, if any.
#include "engine/program/ordered_tree.h"

#include <algorithm>
#include <cstddef>

#include "engine/base/error.h"

namespace ds {
namespace {

// Returns the root's level: the lowest whose first node covers all leaves.
int root_level(int leaves) {
  int level = 0;
  while ((1LL << level) < leaves) ++level;
  return level;
}

bool is_left(const Subtree& node) { return node.index % 2 == 0; }
Subtree parent(const Subtree& node) { return {node.level + 1, node.index / 2}; }

// A left child without a sibling stands for its parent: takes the highest node that covers the same
// leaves.
Subtree highest(Subtree node, int leaves) {
  const int top = root_level(leaves);
  while (node.level < top && is_left(node) && node.end_leaf(leaves) == leaves) node = parent(node);
  return node;
}

bool are_siblings(const Subtree& left, const Subtree& right) {
  return left.level == right.level && is_left(left) && right.index == left.index + 1;
}

// Both nodes are the highest that cover their leaves; the right one may have risen above its
// sibling.
bool merges_with(const Subtree& left, Subtree right, int leaves) {
  if (left.end_leaf(leaves) != right.first_leaf()) return false;
  while (right.level > left.level) right = {right.level - 1, right.index * 2};
  return are_siblings(left, right);
}

struct Entry {
  Subtree node;
  int value;
};

// Pushes one value and merges as far as the tree allows; appends the merges.
void push(std::vector<Entry>& stack, Entry entry, int leaves, std::vector<Merge>& merges) {
  entry.node = highest(entry.node, leaves);
  DS_ASSERT(stack.empty() || stack.back().node.end_leaf(leaves) <= entry.node.first_leaf(),
            "subtrees must arrive in leaf order without overlap");
  stack.push_back(entry);
  while (stack.size() >= 2) {
    Entry& left = stack[stack.size() - 2];
    const Entry right = stack.back();
    if (!merges_with(left.node, right.node, leaves)) return;
    merges.push_back({.dst = left.value, .src = right.value});
    left.node = highest(parent(left.node), leaves);
    stack.pop_back();
  }
}

}  // namespace

int Subtree::end_leaf(int leaves) const {
  return static_cast<int>(std::min<long long>((index + 1LL) << level, leaves));
}

std::vector<Subtree> maximal_subtrees(int first, int last, int leaves) {
  DS_ASSERT(first >= 0 && first <= last && last <= leaves);
  std::vector<Subtree> arriving;
  for (int leaf = first; leaf < last; ++leaf) arriving.push_back({.level = 0, .index = leaf});
  return plan_merges(arriving, leaves).roots;
}

MergePlan plan_merges(std::span<const Subtree> arriving, int leaves) {
  MergePlan plan;
  std::vector<Entry> stack;
  for (const Subtree& node : arriving) {
    DS_ASSERT(node.first_leaf() < leaves);
    Arrival arrival{.slot = static_cast<int>(stack.size()), .merges = {}};
    push(stack, {node, arrival.slot}, leaves, arrival.merges);
    plan.slots = std::max(plan.slots, arrival.slot + 1);
    plan.arrivals.push_back(std::move(arrival));
  }
  for (const Entry& entry : stack) plan.roots.push_back(entry.node);
  return plan;
}

FinishPlan plan_finish(std::span<const std::vector<Subtree>> roots_of_ranks, int leaves) {
  std::vector<Entry> all;
  for (const std::vector<Subtree>& roots : roots_of_ranks) {
    for (const Subtree& root : roots) all.push_back({root, static_cast<int>(all.size())});
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return a.node.first_leaf() < b.node.first_leaf();
  });
  FinishPlan plan;
  std::vector<Entry> stack;
  for (const Entry& entry : all) push(stack, entry, leaves, plan.merges);
  DS_ASSERT(stack.size() == 1 && stack.front().node.first_leaf() == 0 &&
                stack.front().node.end_leaf(leaves) == leaves,
            "the ranks' roots must cover every leaf exactly once");
  plan.result = stack.front().value;
  return plan;
}

}  // namespace ds
