// Decoding: keys and values of a step go into the cache, row by row.
#include "engine/device/cuda/check.h"
#include "engine/device/cuda/launch.cuh"
#include "engine/kernels/cuda/act.cuh"
#include "engine/kernels/cuda/ops.h"

namespace ds::cuda {
namespace {

constexpr int kThreads = 256;

struct CacheSizes {
  std::int64_t time, room;  // T, S
  int queries, keys;        // elements of a row: of its queries, of its keys and values
};

/// blockIdx.x: a row of qkv.
template <class T, int kCount>
__global__ void __launch_bounds__(kThreads)
    cache_kernel(CacheSizes n, const T* __restrict__ qkv, const std::int32_t* __restrict__ slots,
                 T* __restrict__ queries, T* __restrict__ cache) {
  const std::int64_t row = blockIdx.x;
  const T* const from = qkv + row * (n.queries + n.keys);
  const auto copy = [&](const T* source, T* target, int count) {
    for (int i = static_cast<int>(threadIdx.x) * kCount; i < count; i += kThreads * kCount) {
      float x[kCount];
      load<kCount>(source + i, x);
      store<kCount>(target + i, x);
    }
  };
  copy(from, queries + row * n.queries, n.queries);
  const std::int32_t slot = slots[row];
  if (slot < 0) return;
  copy(from + n.queries, cache + (row / n.time * n.room + slot) * n.keys, n.keys);
}

}  // namespace

template <>
void run(Context&, const CacheKeys& a, cudaStream_t stream) {
  const Shape& to = a.cache.shape;
  const std::int64_t batch = to[1], depth = to[4], time = a.qkv.shape[3], rows = batch * time;
  const std::int64_t heads = a.queries.shape[2];
  DS_ASSERT(a.qkv.shape.axes() == 5 && a.qkv.shape[1] == batch && a.qkv.shape[4] == depth);
  DS_ASSERT(a.queries.elements() == rows * heads * depth && a.slots.elements() == rows);
  DS_ASSERT(a.qkv.elements() == rows * (heads + to[2]) * depth && a.qkv.dtype == a.cache.dtype);
  DS_ASSERT((a.kv_heads == 0 ? heads : a.kv_heads) * 2 == to[2] && rows <= INT32_MAX);
  const CacheSizes sizes{.time = time,
                         .room = to[3],
                         .queries = static_cast<int>(heads * depth),
                         .keys = static_cast<int>(to[2] * depth)};
  const auto of_type = [&](auto type) {
    using T = typename decltype(type)::Element;
    const auto* from = static_cast<const T*>(a.qkv.data);
    auto* queries = static_cast<T*>(a.queries.data);
    auto* cache = static_cast<T*>(a.cache.data);
    const bool wide = all_aligned(from, queries, cache) && depth % kPackOf<T> == 0;
    return launch(wide ? cache_kernel<T, kPackOf<T>> : cache_kernel<T, 1>,
                  {static_cast<unsigned>(rows), kThreads}, stream, sizes, from,
                  static_cast<const std::int32_t*>(a.slots.data), queries, cache);
  };
  check(with_act(act_of(a.qkv.dtype), of_type), "CacheKeys");
}

}  // namespace ds::cuda
