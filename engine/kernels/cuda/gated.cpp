// SwiGLU, rotary embedding and T5's relative position bias: prepares and launches their kernels.
#include <cmath>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/relative_bucket.h"

namespace ds::cuda {
namespace {

/// Returns the first distance of each bucket of one direction, by relative_bucket().
BucketStarts starts_of(std::int64_t rows, std::int64_t time, std::int64_t max_distance,
                       bool bidirectional) {
  BucketStarts starts{};
  const std::int64_t count = bidirectional ? rows / 2 : rows;
  DS_ASSERT(count >= 1 && count <= kMostBuckets);
  starts.count = static_cast<int>(count);
  starts.time = time;
  starts.rows = rows;
  starts.bidirectional = bidirectional;
  std::int64_t next = 0;  // the first bucket whose start is not known yet
  for (std::int64_t far = 0; next < count && far <= std::max(max_distance, count); ++far) {
    const std::int64_t bucket = relative_bucket(-far, rows, max_distance, bidirectional);
    for (; next <= bucket; ++next) starts.start[next] = static_cast<std::int32_t>(far);
  }
  for (; next < count; ++next) starts.start[next] = INT32_MAX;
  return starts;
}

}  // namespace

template <>
void run(Context& c, const SwiGlu& a, cudaStream_t stream) {
  const std::int64_t ffn = a.out.shape[1], rows = a.out.shape[0];
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.out.dtype == a.in.dtype);
  check(launch_swiglu(launch_on(c, stream), act_of(a.in.dtype), a.in.data, a.out.data, rows, ffn),
        "SwiGlu");
}

template <>
void run(Context& c, const SwiGluBackward& a, cudaStream_t stream) {
  const std::int64_t ffn = a.dout.shape[1], rows = a.dout.shape[0];
  DS_ASSERT(a.in.elements() == 2 * rows * ffn && a.din.elements() == 2 * rows * ffn);
  check(launch_swiglu_backward(launch_on(c, stream), act_of(a.in.dtype), a.in.data, a.dout.data,
                               a.din.data, rows, ffn),
        "SwiGluBackward");
}

template <>
void run(Context& c, const Rotary& a, cudaStream_t stream) {
  const std::int64_t groups = a.kv_heads == 0 ? a.heads : a.kv_heads;
  const std::int64_t all_heads = a.heads + 2 * groups;
  const std::int64_t depth = a.rows ? a.in.shape[1] / all_heads : a.in.shape[4];
  const std::int64_t rows = a.in.elements() / (all_heads * depth);
  DS_ASSERT(a.in.elements() == rows * all_heads * depth && a.out.elements() == a.in.elements());
  DS_ASSERT(depth % 2 == 0 && depth / 2 <= kMostRotaryPairs && rows % a.seq_len == 0);
  DS_ASSERT(rows <= INT32_MAX && a.seq_len <= INT32_MAX && a.out.dtype == a.in.dtype);
  RotaryNumbers numbers{};
  for (std::int64_t i = 0; i < depth / 2; ++i) {
    const double power = static_cast<double>(i) / static_cast<double>(depth / 2);
    numbers.frequency[i] = static_cast<float>(std::pow(static_cast<double>(a.theta), -power));
  }
  numbers.seq_len = a.seq_len;
  numbers.rows = rows;
  numbers.turned_heads = static_cast<int>(a.heads + groups);
  numbers.copied_heads = static_cast<int>(groups);
  numbers.head_size = static_cast<int>(depth);
  numbers.inverse = a.inverse;
  check(launch_rotary(launch_on(c, stream), act_of(a.in.dtype), numbers, a.in.data, a.out.data),
        "Rotary");
}

template <>
void run(Context& c, const RelativeBias& a, cudaStream_t stream) {
  const std::int64_t heads = a.table.shape[1], time = (a.out.shape[1] + 1) / 2;
  DS_ASSERT(a.out.shape[0] == heads && a.out.dtype == DType::f32);
  check(launch_relative_bias(launch_on(c, stream), act_of(a.table.dtype),
                             starts_of(a.table.shape[0], time, a.max_distance, a.bidirectional),
                             a.table.data, heads, static_cast<float*>(a.out.data)),
        "RelativeBias");
}

template <>
void run(Context& c, const RelativeBiasBackward& a, cudaStream_t stream) {
  const std::int64_t heads = a.dtable.shape[1], time = (a.dout.shape[1] + 1) / 2;
  DS_ASSERT(a.dout.shape[0] == heads && a.dtable.dtype == DType::f32);
  check(
      launch_relative_bias_backward(
          launch_on(c, stream), starts_of(a.dtable.shape[0], time, a.max_distance, a.bidirectional),
          static_cast<const float*>(a.dout.data), heads, static_cast<float*>(a.dtable.data),
          a.accumulate),
      "RelativeBiasBackward");
}

}  // namespace ds::cuda
