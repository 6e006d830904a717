// Optimizer updates: prepares and launches their kernels.
#include "engine/kernels/cuda/update.h"

#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/leaf.h"
#include "engine/kernels/update_rule.h"

namespace ds::cuda {
namespace {

template <class T>
T* moved(T* data, std::int64_t elements) {
  return data == nullptr ? nullptr : data + elements;
}

/// Returns the elements [first, first + n) of `whole` without cuts.
UpdateArrays part_of(const UpdateArrays& whole, std::int64_t first, std::int64_t n) {
  const std::int64_t weight_bytes = whole.act == Act::f32 ? 4 : 2;
  return {.grad = whole.grad + first,
          .master = moved(whole.master, first),
          .m = whole.m + first,
          .v = moved(whole.v, first),
          .weights = moved(static_cast<std::byte*>(whole.weights), first * weight_bytes),
          .low = moved(whole.low, first),
          .n = n,
          .act = whole.act};
}

/// Launches once for every kMostDecayCuts cuts: the last of these cuts is where decay starts again,
/// and ends the launch.
cudaError_t update_parts(const Launch& l, const OptimizerRule& rule, const UpdateArrays& whole,
                         std::span<const std::int64_t> cuts) {
  std::int64_t first = 0;
  while (first < whole.n) {
    const std::size_t count = std::min<std::size_t>(cuts.size(), kMostDecayCuts);
    const bool is_last = count == cuts.size();
    const std::int64_t end = is_last ? whole.n : cuts[count - 1];
    UpdateArrays part = part_of(whole, first, end - first);
    for (const std::int64_t cut : cuts.first(count)) part.cuts.at[part.cuts.count++] = cut - first;
    const cudaError_t error = launch_update(l, rule, part);
    if (error != cudaSuccess) return error;
    cuts = cuts.subspan(count);
    first = end;
  }
  return cudaSuccess;
}

}  // namespace

template <>
void run(Context& c, const OptimizerUpdate& a, cudaStream_t stream) {
  const std::int64_t n = a.grad.elements();
  require_fit(a, n);
  const UpdateArrays whole{.grad = static_cast<const float*>(a.grad.data),
                           .master = static_cast<float*>(a.master.data),
                           .m = static_cast<float*>(a.m.data),
                           .v = static_cast<float*>(a.v.data),
                           .weights = a.weights.data,
                           .low = static_cast<std::uint16_t*>(a.low.data),
                           .n = n,
                           .act = a.weights ? act_of(a.weights.dtype) : Act::f32};
  check(update_parts(launch_on(c, stream), rule_of(a), whole, a.decay_cuts), "OptimizerUpdate");
}

}  // namespace ds::cuda
