// Tests of the ordered tree: the float sum has the bits of the one-process rule, whichever ranks
// hold the leaves.
#include "engine/program/ordered_tree.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using ds::Subtree;

namespace {

// The written rule as a binary counter; shares no code with the product.
float counter_sum(const std::vector<float>& leaves) {
  std::vector<std::pair<int, float>> stack;
  for (const float leaf : leaves) {
    stack.emplace_back(0, leaf);
    while (stack.size() >= 2 && stack[stack.size() - 2].first == stack.back().first) {
      const float right = stack.back().second;
      stack.pop_back();
      stack.back() = {stack.back().first + 1, stack.back().second + right};
    }
  }
  while (stack.size() > 1) {
    const float right = stack.back().second;
    stack.pop_back();
    stack.back().second = stack.back().second + right;
  }
  return stack.front().second;
}

std::vector<float> random_leaves(int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::uniform_real_distribution<float> mantissa(-1.0F, 1.0F);
  std::vector<float> leaves(static_cast<std::size_t>(count));
  for (float& leaf : leaves) leaf = std::ldexp(mantissa(random), exponent(random));
  return leaves;
}

// One rank: its leaves arrive in order, and the values of its roots remain.
struct RankSums {
  std::vector<Subtree> roots;
  std::vector<float> values;
};

RankSums sum_on_rank(const std::vector<int>& held, const std::vector<float>& leaves) {
  std::vector<Subtree> arriving;
  for (const int leaf : held) arriving.push_back({.level = 0, .index = leaf});
  const ds::MergePlan plan = ds::plan_merges(arriving, static_cast<int>(leaves.size()));
  std::vector<float> stack(static_cast<std::size_t>(plan.slots));
  const auto at = [&](int slot) -> float& { return stack.at(static_cast<std::size_t>(slot)); };
  for (std::size_t i = 0; i < held.size(); ++i) {
    at(plan.arrivals[i].slot) = leaves[static_cast<std::size_t>(held[i])];
    for (const ds::Merge merge : plan.arrivals[i].merges)
      at(merge.dst) = at(merge.dst) + at(merge.src);
  }
  stack.resize(plan.roots.size());
  return {plan.roots, stack};
}

float sum_over_ranks(const std::vector<std::vector<int>>& held_by_rank,
                     const std::vector<float>& leaves) {
  std::vector<std::vector<Subtree>> roots;
  std::vector<float> values;
  for (const std::vector<int>& held : held_by_rank) {
    const RankSums sums = sum_on_rank(held, leaves);
    roots.push_back(sums.roots);
    values.insert(values.end(), sums.values.begin(), sums.values.end());
  }
  const ds::FinishPlan plan = ds::plan_finish(roots, static_cast<int>(leaves.size()));
  const auto at = [&](int slot) -> float& { return values.at(static_cast<std::size_t>(slot)); };
  for (const ds::Merge merge : plan.merges) at(merge.dst) = at(merge.dst) + at(merge.src);
  return at(plan.result);
}

void check_same_bits(const std::vector<std::vector<int>>& held_by_rank,
                     const std::vector<float>& leaves) {
  const float sum = sum_over_ranks(held_by_rank, leaves);
  CHECK(std::bit_cast<std::uint32_t>(sum) == std::bit_cast<std::uint32_t>(counter_sum(leaves)));
}

}  // namespace

TEST_CASE("contiguous leaves: every world size gives the bits of one process") {
  for (int count = 1; count <= 64; ++count) {
    const std::vector<float> leaves = random_leaves(count, static_cast<std::uint32_t>(count));
    for (int world = 1; world <= count; ++world) {
      std::vector<std::vector<int>> held(static_cast<std::size_t>(world));
      for (int leaf = 0; leaf < count; ++leaf)
        held[static_cast<std::size_t>(leaf * world / count)].push_back(leaf);
      CAPTURE(count);
      CAPTURE(world);
      check_same_bits(held, leaves);
    }
  }
}

TEST_CASE("leaves dealt round-robin, or at random, give the same bits") {
  std::mt19937 random(7);
  for (int count = 1; count <= 64; ++count) {
    const std::vector<float> leaves =
        random_leaves(count, static_cast<std::uint32_t>(1000 + count));
    for (int world = 1; world <= count; world += 1 + count / 9) {
      std::vector<std::vector<int>> dealt(static_cast<std::size_t>(world));
      std::vector<std::vector<int>> scattered(static_cast<std::size_t>(world));
      for (int leaf = 0; leaf < count; ++leaf) {
        dealt[static_cast<std::size_t>(leaf % world)].push_back(leaf);
        scattered[random() % static_cast<std::size_t>(world)].push_back(leaf);
      }
      CAPTURE(count);
      CAPTURE(world);
      check_same_bits(dealt, leaves);
      check_same_bits(scattered, leaves);
    }
  }
}

TEST_CASE(
    "the order matters: a plain running sum differs somewhere, so equal bits mean something") {
  int different = 0;
  for (int count = 3; count <= 64; ++count) {
    const std::vector<float> leaves = random_leaves(count, static_cast<std::uint32_t>(count));
    float running = 0.0F;
    for (const float leaf : leaves) running += leaf;
    if (running != counter_sum(leaves)) ++different;
  }
  CHECK(different > 20);
}

TEST_CASE("maximal subtrees are few, and cut at the last leaf") {
  CHECK(ds::maximal_subtrees(0, 8, 8) == std::vector<Subtree>{{3, 0}});
  CHECK(ds::maximal_subtrees(0, 7, 7) == std::vector<Subtree>{{3, 0}});
  CHECK(ds::maximal_subtrees(4, 7, 7) == std::vector<Subtree>{{2, 1}});
  CHECK(ds::maximal_subtrees(1, 7, 8) == std::vector<Subtree>{{0, 1}, {1, 1}, {1, 2}, {0, 6}});
  CHECK(ds::maximal_subtrees(0, 3, 6) == std::vector<Subtree>{{1, 0}, {0, 2}});
  CHECK(ds::maximal_subtrees(3, 3, 6).empty());
  CHECK(ds::maximal_subtrees(0, 1, 1) == std::vector<Subtree>{{0, 0}});
}

TEST_CASE("the stack of a rank stays logarithmic when its leaves are contiguous") {
  std::vector<Subtree> arriving;
  for (int leaf = 0; leaf < 64; ++leaf) arriving.push_back({0, leaf});
  CHECK(ds::plan_merges(arriving, 64).slots == 7);
  CHECK(ds::plan_merges(arriving, 64).roots == std::vector<Subtree>{{6, 0}});
}
