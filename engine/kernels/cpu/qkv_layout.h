// QkvLayout: where each head of queries, keys and values lies in memory.
#pragma once

#include "engine/base/error.h"
#include "engine/tensor/tensor.h"

namespace ds::cpu {

/// Memory layout of queries, then keys, then values: heads, or rows of all heads of a position.
struct QkvLayout {
  std::int64_t time, heads, groups, depth, batch;
  bool rows;

  /// `kv_heads` = 0: as many as heads.
  QkvLayout(const ConstTensor& qkv, std::int64_t seq_len, std::int64_t query_heads,
            std::int64_t kv_heads, bool in_rows)
      : time(seq_len),
        heads(query_heads),
        groups(kv_heads == 0 ? query_heads : kv_heads),
        depth(in_rows ? qkv.shape[1] / (heads + 2 * groups) : qkv.shape[4]),
        batch(qkv.elements() / (time * (heads + 2 * groups) * depth)),
        rows(in_rows) {
    DS_ASSERT(qkv.elements() == batch * time * (heads + 2 * groups) * depth);
  }
  /// Returns the first element of head h, 0 <= h < heads + 2 groups.
  [[nodiscard]] std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t t) const {
    if (rows) return ((b * time + t) * (heads + 2 * groups) + h) * depth;
    const std::int64_t part = h < heads ? 0 : h < heads + groups ? heads : heads + groups;
    const std::int64_t count = h < heads ? heads : groups;
    return (batch * time * part + (b * count + h - part) * time + t) * depth;
  }
};

}  // namespace ds::cpu
