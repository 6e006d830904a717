// T5's relative position bias from its table, and the table's gradient.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/warp.cuh"
#include "engine/kernels/relative_bucket.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kMostBuckets = 256;
/// Bucket i of one direction holds distances start[i] ... start[i + 1] - 1; the last also all
/// above.
struct BucketStarts {
  std::int32_t start[kMostBuckets];
  int count;
  std::int64_t zero, rows;    // the distance index of zero; rows of the table: all buckets
  const std::int32_t* first;  // the position of the first query, or null
  bool bidirectional;
};

/// Returns the bucket of distance index d: the last one that starts at or below it.
__device__ int bucket_of(const BucketStarts& b, std::int64_t d) {
  const std::int64_t distance = d - b.zero - (b.first == nullptr ? 0 : *b.first);
  std::int64_t far = distance;
  int first = 0;
  if (b.bidirectional) {
    first = distance > 0 ? b.count : 0;
    far = distance > 0 ? distance : -distance;
  } else {
    far = distance > 0 ? 0 : -distance;
  }
  int low = 0, high = b.count;  // start[low] <= far < start[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (b.start[middle] <= far) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return first + low;
}

/// blockIdx.y: the head.
template <class T>
__global__ void __launch_bounds__(kThreads)
    relative_bias_kernel(BucketStarts b, const T* table, float* out, std::int64_t distances) {
  const std::int64_t heads = gridDim.y, head = blockIdx.y;
  const std::int64_t d = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (d < distances) {
    out[head * distances + d] = to_float(table[bucket_of(b, d) * heads + head]);
  }
}

/// blockIdx.x: a bucket, blockIdx.y: a head.
__global__ void __launch_bounds__(kThreads)
    relative_bias_backward_kernel(BucketStarts b, const float* dout, float* dtable,
                                  std::int64_t distances, bool accumulate) {
  __shared__ float sums[kWarps];
  const std::int64_t heads = gridDim.y, head = blockIdx.y;
  float sum = 0;
  for (std::int64_t d = threadIdx.x; d < distances; d += kThreads) {
    if (bucket_of(b, d) == static_cast<int>(blockIdx.x)) sum += dout[head * distances + d];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kWarps; ++i) sum += sums[i];
  float& to = dtable[blockIdx.x * heads + head];
  to = accumulate ? to + sum : sum;
}

/// Returns the first distance of each bucket of one direction, by relative_bucket(), for a table of
/// `rows` and the op's numbers. `distances` = T + S - 1.
template <class Op>
BucketStarts starts_of(const Op& a, std::int64_t rows, std::int64_t distances) {
  BucketStarts starts{};
  const bool bidirectional = a.bidirectional;
  const std::int64_t max_distance = a.max_distance;
  const std::int64_t count = bidirectional ? rows / 2 : rows;
  DS_ASSERT(count >= 1 && count <= kMostBuckets);
  starts.count = static_cast<int>(count);
  const std::int64_t queries = a.queries == 0 ? (distances + 1) / 2 : a.queries;
  DS_ASSERT(queries <= distances);
  starts.zero = queries - 1;
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
void run(Context&, const RelativeBias& a, cudaStream_t stream) {
  const std::int64_t heads = a.table.shape[1], distances = a.out.shape[1];
  DS_ASSERT(a.out.shape[0] == heads && a.out.dtype == DType::f32);
  BucketStarts starts = starts_of(a, a.table.shape[0], distances);
  starts.first = static_cast<const std::int32_t*>(a.first.data);
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const std::int64_t blocks = ceil_div(distances, kThreads);
    return launch(relative_bias_kernel<T>,
                  {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(heads)), kThreads},
                  stream, starts, static_cast<const T*>(a.table.data),
                  static_cast<float*>(a.out.data), distances);
  };
  check(with_act(act_of(a.table.dtype), of_type), "RelativeBias");
}

template <>
void run(Context&, const RelativeBiasBackward& a, cudaStream_t stream) {
  const std::int64_t heads = a.dtable.shape[1], distances = a.dout.shape[1];
  DS_ASSERT(a.dout.shape[0] == heads && a.dtable.dtype == DType::f32);
  const BucketStarts starts = starts_of(a, a.dtable.shape[0], distances);
  check(launch(relative_bias_backward_kernel,
               {dim3(static_cast<unsigned>(starts.rows), static_cast<unsigned>(heads)), kThreads},
               stream, starts, static_cast<const float*>(a.dout.data),
               static_cast<float*>(a.dtable.data), distances, a.accumulate),
        "RelativeBiasBackward");
}

}  // namespace ds::cuda
