// Sizes, masks and matrix products that forward and backward attention share.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {

void AttentionHead::find_seen_keys(const AttentionMask& mask, std::int64_t b) {
  const std::int32_t* ranges = mask.ranges ? mask.ranges + 2 * b * s_.time : nullptr;
  const auto keys = static_cast<std::int32_t>(s_.keys);
  KeyInterval all{keys, 0};
  for (std::int64_t i = 0; i < s_.query_blocks(); ++i) {
    KeyInterval span{keys, 0};
    const std::int64_t end = i * kAttentionBlock + s_.queries_of(i);
    for (std::int64_t q = i * kAttentionBlock; q < end; ++q) {
      const auto query = static_cast<std::int32_t>(q);
      KeyInterval seen{0, keys};
      if (mask.causal) seen.last = std::min(seen.last, query + 1);
      if (q >= mask.window && mask.window > 0) {
        seen.first = static_cast<std::int32_t>(q - mask.window + 1);
      }
      if (ranges != nullptr) {
        seen = {std::max(seen.first, ranges[2 * q]), std::min(seen.last, ranges[2 * q + 1])};
      }
      if (seen.first >= seen.last) seen = {0, 0};
      w_.seen[q] = seen;
      if (seen.last == 0) continue;
      span = {std::min(span.first, seen.first), std::max(span.last, seen.last)};
    }
    w_.spans[i] = span.last == 0 ? KeyInterval{0, 0} : span;
    all = {std::min(all.first, span.first), std::max(all.last, span.last)};
  }
  constexpr auto kBlock = static_cast<std::int32_t>(kAttentionBlock);
  keys_ = all.last == 0 ? KeyInterval{0, 0}
                        : KeyInterval{all.first / kBlock, (all.last + kBlock - 1) / kBlock};
}

bool AttentionHead::begins(std::int64_t j, std::int64_t row, std::int64_t count, float* sums,
                           std::int64_t first, std::int64_t rows_of_panel) const {
  std::int64_t new_blocks = 0, blocks = 0;
  for (std::int64_t q = row; q < row + count; q += kAttentionBlock, ++blocks) {
    new_blocks += first_block(q / kAttentionBlock) == j;
  }
  if (new_blocks == blocks || new_blocks == 0) return new_blocks != 0;
  for (std::int64_t q = row; q < row + count; q += kAttentionBlock) {
    const std::int64_t i = q / kAttentionBlock;
    if (first_block(i) == j) clear_sums(sums, q - first, s_.queries_of(i), rows_of_panel);
  }
  return false;
}

void prepare_attention(const Context& c, const AttentionSizes& s, bool backward) {
  const auto sums = [&](std::int64_t rows, std::int64_t k) {
    for (const bool add : {false, true}) c.products.prepare({s.operand, rows, s.even(k), add});
  };
  const std::int64_t first = s.keys_of(0), last = s.keys_of(s.key_blocks() - 1);
  // Tiles are one to four blocks of queries, and the last of them may be incomplete.
  const std::int64_t rest = s.time % kAttentionBlock;
  for (std::int64_t whole = 0; whole <= s.queries(); whole += kAttentionBlock) {
    for (const std::int64_t queries : {whole, whole + rest}) {
      if (queries == 0 || queries > std::min(kQueries, s.time)) continue;
      c.products.prepare({s.operand, queries, s.even(s.depth)});
      sums(queries, first);
      sums(queries, last);
    }
  }
  if (!backward) return;
  sums(s.depth, s.queries_of(0));
  sums(s.depth, s.queries_of(s.query_blocks() - 1));
}

AttentionSizes attention_sizes(const Context& c, const Attention& a) {
  const Shape& shape = a.qkv.shape;
  const bool cross = static_cast<bool>(a.kv);
  // (3, B, H, T, D), or (1, B, H + 2G, T, D), where the queries of cross-attention have G = 0.
  const std::int64_t heads = shape[0] == 3 || cross ? shape[2] : shape[2] - 2 * a.kv_heads;
  const std::int64_t groups = a.kv_heads == 0 ? heads : a.kv_heads;
  DS_ASSERT(heads > 0 && heads % groups == 0);
  const std::int64_t batch = shape[1], time = shape[3], depth = shape[4];
  std::int64_t keys = time;
  if (cross) {
    keys = a.kv.shape[3];
    DS_ASSERT(shape[0] == 1 && a.kv.dtype == a.qkv.dtype);
    DS_ASSERT((a.kv.shape == Shape{1, batch, 2 * groups, keys, depth}));
  } else {
    DS_ASSERT(shape[0] == 1 ? a.kv_heads > 0 : groups == heads);
  }
  DS_ASSERT(!a.ranges || (a.ranges.dtype == DType::i32 && a.ranges.elements() == 2 * batch * time));
  DS_ASSERT(!a.bias || a.bias.elements() == heads * (time + keys - 1));
  DS_ASSERT(a.window >= 0);
  return {c, a.qkv.dtype, batch, heads, groups, time, keys, depth, cross};
}

}  // namespace ds::cpu
