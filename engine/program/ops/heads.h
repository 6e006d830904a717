// HeadsShape: the sizes in the shape of a value with the layout of heads.
#pragma once

#include "engine/program/program.h"

namespace ds {

/// (3, B, H, T, D), or with fewer heads of keys (1, B, H + 2G, T, D). `kv_heads` = 0: G = H.
struct HeadsShape {
  std::int64_t batch, heads, groups, time, depth;
  HeadsShape(const Value& value, std::int64_t kv_heads) {
    const Shape& s = value.shape;
    DS_ASSERT(s.axes() == 5 && s[0] == (kv_heads == 0 ? 3 : 1));
    batch = s[1], time = s[3], depth = s[4];
    heads = kv_heads == 0 ? s[2] : s[2] - 2 * kv_heads;
    groups = kv_heads == 0 ? heads : kv_heads;
    DS_ASSERT(heads > 0 && heads % groups == 0);
  }
  /// Elements of all heads of one position.
  [[nodiscard]] std::int64_t row() const { return (heads + 2 * groups) * depth; }
};

}  // namespace ds
