// Sizes and matrix products that forward and backward attention share.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {

void prepare_attention(const Context& c, const AttentionSizes& s) {
  for (std::int64_t i = 0; i < s.blocks(); ++i) {
    c.products.prepare(s.operand, s.rows_of(i), s.even(s.depth));
    c.products.prepare(s.operand, s.rows_of(i), s.even(i * kAttentionBlock + s.rows_of(i)));
    c.products.prepare(s.operand, s.rows_of(i), s.even(s.time - i * kAttentionBlock));
  }
  c.products.prepare(s.operand, s.rows_of(0), s.even(s.time));
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
