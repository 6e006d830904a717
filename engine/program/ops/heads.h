// HeadsShape, AttentionShape: the sizes in the shapes of values with the layout of heads.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// (3, B, H, T, D) with G = H, or (1, B, H + 2G, T, D) with G = kv_heads. Queries alone have G = 0,
/// keys and values alone H = 0.
struct HeadsShape {
  std::int64_t batch, heads, groups, time, depth;
  HeadsShape(const Value& value, std::int64_t kv_heads) {
    const Shape& s = value.shape;
    DS_ASSERT(s.axes() == 5 && (s[0] == 1 || (s[0] == 3 && kv_heads == 0)));
    batch = s[1], time = s[3], depth = s[4];
    heads = s[0] == 3 ? s[2] : s[2] - 2 * kv_heads;
    groups = s[0] == 3 ? heads : kv_heads;
    DS_ASSERT(heads >= 0 && (groups == 0 || heads % groups == 0) && heads + groups > 0);
  }
  /// Elements of all heads of one position.
  [[nodiscard]] std::int64_t row() const { return (heads + 2 * groups) * depth; }
};

/// The sizes of an attention: of the queries and of the keys that they see.
struct AttentionShape {
  std::int64_t batch, heads, groups, time, keys, depth;
  bool cross;
  /// `kv` is null where queries are their own keys; `kv_heads` = 0: G = H.
  AttentionShape(const Value& qkv, const Value* kv, std::int64_t kv_heads) : cross(kv != nullptr) {
    const HeadsShape q(qkv, cross ? 0 : kv_heads);
    batch = q.batch, heads = q.heads, time = q.time, depth = q.depth;
    groups = kv_heads == 0 ? heads : kv_heads;
    keys = cross ? kv->shape[3] : time;
    DS_ASSERT(heads > 0 && heads % groups == 0);
    DS_ASSERT(cross ? q.groups == 0 : q.groups == groups);
    DS_ASSERT(!cross ||
              (kv->dtype == qkv.dtype && kv->shape == Shape{1, batch, 2 * groups, keys, depth}));
  }
  [[nodiscard]] std::int64_t query_columns() const {
    return (heads + (cross ? 0 : 2 * groups)) * depth;
  }
};

}  // namespace ds
