// Sizes and matrix products that forward and backward attention share.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {

void prepare_attention(const Context& c, const AttentionSizes& s, bool backward) {
  const std::int64_t depth = s.even(s.depth);
  for (std::int64_t i = 0; i < s.blocks(); ++i) {
    const std::int64_t rows = s.rows_of(i), first = i * kAttentionBlock;
    if (!backward) {
      c.products.prepare({s.operand, rows, depth});
      c.products.prepare({s.operand, rows, s.even(first + rows)});
      c.products.prepare({s.operand, rows, s.even(s.time)});
      continue;
    }
    for (const std::int64_t queries : {kQueries, (s.time - first) % kQueries}) {
      if (queries == 0 || queries > s.time - first) continue;
      c.products.prepare({s.operand, queries, depth});
      for (const bool add : {false, true}) {
        for (const std::int64_t keys : {s.rows_of(0), s.rows_of(s.blocks() - 1)}) {
          c.products.prepare({s.operand, queries, s.even(keys), add});
        }
      }
    }
    for (const bool add : {false, true}) {
      c.products.prepare({s.operand, s.depth, s.even(rows), add});
    }
  }
}

AttentionSizes attention_sizes(const Context& c, const ConstTensor& qkv, std::int64_t kv_heads) {
  const Shape& shape = qkv.shape;
  const bool grouped = shape[0] == 1;  // (1, B, H + 2G, T, D), else (3, B, H, T, D)
  const std::int64_t heads = grouped ? shape[2] - 2 * kv_heads : shape[2];
  const std::int64_t groups = kv_heads == 0 ? heads : kv_heads;
  DS_ASSERT(heads > 0 && heads % groups == 0 && (grouped ? kv_heads > 0 : groups == heads));
  return {c, qkv.dtype, shape[1], heads, groups, shape[3], shape[4]};
}

}  // namespace ds::cpu
