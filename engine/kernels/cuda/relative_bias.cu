// T5's relative position bias from its table, and the table's gradient.
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/launchers.h"
#include "engine/kernels/cuda/warp.cuh"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Returns the bucket of distance index d: the last one that starts at or below it.
__device__ int bucket_of(const BucketStarts& b, std::int64_t d) {
  const std::int64_t distance = d - (b.time - 1);
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
    relative_bias_kernel(BucketStarts b, const T* table, float* out) {
  const std::int64_t distances = 2 * b.time - 1, heads = gridDim.y, head = blockIdx.y;
  const std::int64_t d = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (d < distances) {
    out[head * distances + d] = to_float(table[bucket_of(b, d) * heads + head]);
  }
}

/// blockIdx.x: a bucket, blockIdx.y: a head.
__global__ void __launch_bounds__(kThreads)
    relative_bias_backward_kernel(BucketStarts b, const float* dout, float* dtable,
                                  bool accumulate) {
  __shared__ float sums[kWarps];
  const std::int64_t distances = 2 * b.time - 1, heads = gridDim.y, head = blockIdx.y;
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

}  // namespace

cudaError_t launch_relative_bias(const Launch& l, Act act, const BucketStarts& starts,
                                 const void* table, std::int64_t heads, float* out) {
  return with_act(act, [&](auto type) {
    using T = typename decltype(type)::Element;
    const std::int64_t blocks = (2 * starts.time - 1 + kThreads - 1) / kThreads;
    return launch(relative_bias_kernel<T>,
                  {dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(heads)), kThreads},
                  l.stream, starts, static_cast<const T*>(table), out);
  });
}

cudaError_t launch_relative_bias_backward(const Launch& l, const BucketStarts& starts,
                                          const float* dout, std::int64_t heads, float* dtable,
                                          bool accumulate) {
  return launch(relative_bias_backward_kernel,
                {dim3(static_cast<unsigned>(starts.rows), static_cast<unsigned>(heads)), kThreads},
                l.stream, starts, dout, dtable, accumulate);
}

}  // namespace ds::cuda
