// Forward attention: one task per (sequence, head), exact softmax over blocks of 64 rows.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {
namespace {

class Forward : public AttentionHead {
 public:
  using AttentionHead::AttentionHead;

  void run(const Attention& a, std::int64_t b, std::int64_t h) {
    start(a, b, h);
    const auto [q, k, v] = inputs(a.qkv.data, b, h);
    const std::byte* q_rows = rows(q, s_.depth, w_.q_rows);
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_depth(v, s_.depth, w_.v_by_depth);
    float* lse = static_cast<float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    for (std::int64_t i = 0; i < s_.blocks(); ++i) {
      const std::int64_t count = s_.rows_of(i), first = i * kAttentionBlock;
      for (std::int64_t j = 0; j <= last_keys(i); ++j) {
        by_time(q_rows, first, count, w_.k_by_time, j, w_.scores + j * kAttentionBlock * kPanel);
      }
      const std::int64_t seen = s_.even(seen_by(i));
      s_.pack.attention_softmax({.in = w_.scores,
                                 .in_stride = kAttentionBlock * kPanel,
                                 .rows = count,
                                 .columns = seen,
                                 .first_valid = causal_ ? first + 1 : s_.time,
                                 .valid_step = causal_ ? 1 : 0,
                                 .limit = std::min<std::int64_t>(keys_, s_.time),
                                 .scale = scale_,
                                 .bias = bias_ ? bias_ + s_.time - 1 - first : nullptr,
                                 .out = w_.p,
                                 .lse = lse + first,
                                 .dropout = drops_ ? &dropout_ : nullptr,
                                 .group = group(first, 0),
                                 .groups_per_row = s_.blocks()});
      void* to = at(a.out.data, s_.type, ((b * s_.time + first) * s_.heads + h) * s_.depth);
      for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
        product({s_.operand, count, seen})
            .run(w_.p, panel_by_depth(w_.v_by_depth, d, 0), w_.tile, w_.onednn, thread_);
        store_panel(w_.tile, count, d, to, s_.heads * s_.depth);
      }
    }
  }
};

}  // namespace

template <>
void run(const Context& c, const Attention& a) {
  const AttentionSizes s = attention_sizes(c, a.qkv, a.kv_heads);
  for_attention_tasks(c, s, false, s.batch * s.heads,
                      [&](const AttentionPieces& pieces, int thread, std::int64_t task) {
                        Forward(c, s, pieces, thread).run(a, task / s.heads, task % s.heads);
                      });
}

std::size_t attention_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  const std::int64_t groups = e.kv_heads == 0 ? e.heads : e.kv_heads;
  const std::int64_t depth = e.head_size == 0 ? e.width / e.heads : e.head_size;
  const AttentionSizes s(c, e.act, e.micro, e.heads, groups, e.seq_len, depth);
  std::size_t largest = 0;
  for (const bool backward : {false, true}) {
    Scratch scratch;
    const AttentionPieces pieces(scratch, s, backward);
    largest = std::max(largest, scratch.used());
  }
  return largest * static_cast<std::size_t>(c.pool.size());
}

}  // namespace ds::cpu
