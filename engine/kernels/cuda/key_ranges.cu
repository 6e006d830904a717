// The ranges of keys that queries see, from the documents of tokens.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 128;

/// One thread per query, in parallel over the queries: it looks for an end of its document's run. A
/// warp's threads read the same or neighboring numbers. blockIdx.y: the sequence.
__global__ void __launch_bounds__(kThreads)
    key_ranges_kernel(const std::int32_t* documents, const std::int32_t* key_documents,
                      std::int32_t* ranges, std::int32_t time, std::int32_t keys) {
  const auto q = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (q >= time) return;
  const std::int64_t query = std::int64_t{blockIdx.y} * time + q;
  const std::int32_t number = documents[query];
  const bool cross = key_documents != nullptr;
  const std::int32_t* among = (cross ? key_documents : documents) + std::int64_t{blockIdx.y} * keys;
  std::int32_t first = 0, last = 0;
  if (number >= 0) {
    if (cross) {
      while (first < keys && among[first] != number) ++first;
      last = first;
    } else {
      first = last = q;
      while (first > 0 && among[first - 1] == number) --first;
    }
    while (last < keys && among[last] == number) ++last;
  }
  if (first == last) first = last = 0;
  ranges[2 * query] = first;
  ranges[2 * query + 1] = last;
}

}  // namespace

template <>
void run(Context&, const KeyRanges& a, cudaStream_t stream) {
  const std::int64_t batch = a.ranges.shape[0], time = a.ranges.shape[1];
  DS_ASSERT(a.ranges.dtype == DType::i32 && a.ranges.elements() == 2 * batch * time);
  DS_ASSERT(a.documents.dtype == DType::i32 && a.documents.elements() == batch * time);
  const std::int64_t keys = a.key_documents ? a.key_documents.elements() / batch : time;
  const auto blocks = static_cast<unsigned>(ceil_div(time, kThreads));
  check(launch(key_ranges_kernel, {dim3(blocks, static_cast<unsigned>(batch)), dim3(kThreads)},
               stream, static_cast<const std::int32_t*>(a.documents.data),
               static_cast<const std::int32_t*>(a.key_documents.data),
               static_cast<std::int32_t*>(a.ranges.data), static_cast<std::int32_t>(time),
               static_cast<std::int32_t>(keys)),
        "KeyRanges");
}

}  // namespace ds::cuda
