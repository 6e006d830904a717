// Gradient norm, optimizer updates and initial values.
#include <algorithm>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/leaf.h"

namespace ds::cpu {
namespace {

constexpr std::int64_t kLeavesPerTask = 64;
constexpr std::int64_t kElementsPerTask = 32 << 10;
constexpr std::int64_t kNormalsPerBlock = 64;

/// Calls part(first, last, decays) for every part of elements [first, last) between `cuts`.
template <class Part>
void for_each_part(std::span<const std::int64_t> cuts, std::int64_t first, std::int64_t last,
                   Part part) {
  auto next = std::upper_bound(cuts.begin(), cuts.end(), first);
  while (first < last) {
    const std::int64_t end = next == cuts.end() ? last : std::min(last, *next);
    part(first, end, (next - cuts.begin()) % 2 == 0);
    first = end;
    if (next != cuts.end()) ++next;
  }
}

}  // namespace

template <>
void run(const Context& c, const LeafSquares& a) {
  const std::int64_t n = a.in.elements(), leaves = ceil_div(n, kLeafElements);
  DS_ASSERT(a.sums.elements() == leaves && a.non_finite.elements() == leaves);
  const auto* in = static_cast<const float*>(a.in.data);
  auto* sums = static_cast<double*>(a.sums.data);
  auto* bad = static_cast<std::int64_t*>(a.non_finite.data);
  c.pool.parallel_for(ceil_div(leaves, kLeavesPerTask), [&](std::int64_t task, int) {
    const std::int64_t first = task * kLeavesPerTask;
    for (std::int64_t leaf = first; leaf < std::min(leaves, first + kLeavesPerTask); ++leaf) {
      const std::int64_t start = leaf * kLeafElements;
      bad[leaf] = 0;
      sums[leaf] = c.vector.square_leaf(in + start, std::min(kLeafElements, n - start), &bad[leaf]);
    }
  });
}

template <>
void run(const Context& c, const OptimizerUpdate& a) {
  const std::int64_t n = a.grad.elements();
  const bool split = static_cast<bool>(a.low);
  require_fit(a, n);
  const OptimizerRule decaying = rule_of(a), plain = without_decay(decaying);
  const auto row_of = [&](const OptimizerRule& rule) -> UpdateRow {
    return {a.type, std::visit([](const auto& row) -> const void* { return &row; }, rule)};
  };
  const DType type = a.weights ? a.weights.dtype : DType::f32;
  const auto update = split ? c.vector.update_split : c.act(type).update;
  const auto part = [&](std::int64_t first, std::int64_t last, bool decays) {
    const auto from = [&](const Tensor& t) { return t ? at(t.data, t.dtype, first) : nullptr; };
    update(row_of(decays ? decaying : plain),
           {.grad = static_cast<const float*>(a.grad.data) + first,
            .master = static_cast<float*>(from(a.master)),
            .m = static_cast<float*>(from(a.m)),
            .v = static_cast<float*>(from(a.v)),
            .weights = from(a.weights),
            .low = static_cast<std::uint16_t*>(from(a.low)),
            .n = last - first});
  };
  c.pool.parallel_for(ceil_div(n, kElementsPerTask), [&](std::int64_t task, int) {
    const std::int64_t first = task * kElementsPerTask;
    for_each_part(a.decay_cuts, first, std::min(n, first + kElementsPerTask), part);
  });
}

template <>
void run(const Context& c, const FillNormal& a) {
  const std::int64_t n = a.out.elements(), begin = a.first_element, end = begin + n;
  auto* out = static_cast<float*>(a.out.data);
  const std::int64_t first_task = begin / kElementsPerTask;
  c.pool.parallel_for(ceil_div(end, kElementsPerTask) - first_task, [&](std::int64_t task, int) {
    const std::int64_t start = (first_task + task) * kElementsPerTask;
    for (std::int64_t e = start; e < std::min(end, start + kElementsPerTask);
         e += kNormalsPerBlock) {
      if (e + kNormalsPerBlock <= begin) continue;
      alignas(64) float block[kNormalsPerBlock];
      c.vector.normal_block(static_cast<std::uint64_t>(e / kNormalsPerBlock), a.seed, a.key, a.mean,
                            a.standard_deviation, block);
      const std::int64_t from = std::max(e, begin), to = std::min(e + kNormalsPerBlock, end);
      std::copy(block + (from - e), block + (to - e), out + (from - begin));
    }
  });
}

}  // namespace ds::cpu
