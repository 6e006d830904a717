// Sizes and matrix products that forward and backward attention share.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {

void prepare_attention(const Context& c, const AttentionSizes& s, bool backward) {
  const auto sums = [&](std::int64_t rows, std::int64_t k) {
    for (const bool add : {false, true}) c.products.prepare({s.operand, rows, s.even(k), add});
  };
  const std::int64_t last = s.rows_of(s.blocks() - 1);
  for (std::int64_t row = 0; row < s.time; row += kAttentionBlock) {
    for (std::int64_t queries : {kQueries, (s.time - row) % kQueries, kQueries - row % kQueries}) {
      queries = std::min(queries, s.time - row);
      if (queries == 0) continue;
      c.products.prepare({s.operand, queries, s.even(s.depth)});
      sums(queries, s.rows_of(0));
      sums(queries, last);
    }
  }
  if (!backward) return;
  sums(s.depth, s.rows_of(0));
  sums(s.depth, last);
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
