// Decoding: keys and values of a step go into the cache, head by head.
#include <cstring>

#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {

template <>
void run(const Context& c, const CacheKeys& a) {
  const Shape &from = a.qkv.shape, &to = a.cache.shape;
  const std::int64_t batch = to[1], groups = to[2] / 2, room = to[3], depth = to[4];
  const std::int64_t heads = a.queries.shape[2], time = from[3];
  DS_ASSERT(from.axes() == 5 && from[1] == batch && from[4] == depth);
  DS_ASSERT(a.qkv.elements() == batch * (heads + 2 * groups) * time * depth);
  DS_ASSERT(a.queries.elements() == batch * heads * time * depth);
  DS_ASSERT(a.slots.elements() == batch * time && a.qkv.dtype == a.cache.dtype);
  DS_ASSERT((a.kv_heads == 0 ? heads : a.kv_heads) == groups);
  const DType type = a.qkv.dtype;
  const auto bytes = static_cast<std::size_t>(depth * size_of(type));
  const auto* slots = static_cast<const std::int32_t*>(a.slots.data);
  // Memory holds the queries of all sequences, then their keys, then their values.
  std::memcpy(a.queries.data, a.qkv.data, static_cast<std::size_t>(a.queries.bytes()));
  c.pool.parallel_for(2 * batch * groups, [&](std::int64_t task, int) {
    const std::int64_t b = task / groups % batch;
    const std::int64_t source = (batch * heads + task) * time, target = task * room;
    for (std::int64_t t = 0; t < time; ++t) {
      const std::int32_t slot = slots[b * time + t];
      if (slot < 0) continue;
      DS_ASSERT(slot < room);
      std::memcpy(at(a.cache.data, type, (target + slot) * depth),
                  at(a.qkv.data, type, (source + t) * depth), bytes);
    }
  });
}

}  // namespace ds::cpu
