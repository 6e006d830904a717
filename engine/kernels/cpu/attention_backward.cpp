// Backward attention: one task per (sequence, head of keys), which processes the query heads that
// share this head of keys in order.
#include "engine/kernels/cpu/attention_head.h"

namespace ds::cpu {
namespace {

class Backward : public AttentionHead {
 public:
  using AttentionHead::AttentionHead;

  void run(const AttentionBackward& a, std::int64_t b, std::int64_t g) {
    const std::int64_t each = s_.heads / s_.groups;
    for (std::int64_t i = 0; i < each; ++i) head(a, b, g * each + i, i == 0, i == each - 1);
  }

 private:
  /// Rows of a gradient in memory, of which a head's columns begin at `data`.
  struct Rows {
    void* data;
    std::int64_t stride;
  };
  /// Returns the rows of a sequence of `time` positions from column head * D on, of `heads` * D.
  [[nodiscard]] Rows rows_of(const Tensor& gradient, std::int64_t b, std::int64_t time,
                             std::int64_t head, std::int64_t heads) const {
    return {at(gradient.data, s_.type, (b * time * heads + head) * s_.depth), heads * s_.depth};
  }
  /// dqkv holds query heads, then keys, then values; dkv holds the latter two of cross-attention.
  [[nodiscard]] Rows of_queries(const AttentionBackward& a, std::int64_t b, std::int64_t h) const {
    return rows_of(a.dqkv, b, s_.time, h, s_.cross ? s_.heads : s_.heads + 2 * s_.groups);
  }
  [[nodiscard]] Rows of_keys(const AttentionBackward& a, std::int64_t b, std::int64_t g) const {
    return s_.cross ? rows_of(a.dkv, b, s_.keys, g, 2 * s_.groups)
                    : rows_of(a.dqkv, b, s_.time, s_.heads + g, s_.heads + 2 * s_.groups);
  }

  void head(const AttentionBackward& a, std::int64_t b, std::int64_t h, bool first_of_group,
            bool last_of_group) {
    start(a, b, h);
    const auto [q, k, v] = inputs(a, b, h);
    const std::int64_t stride = s_.heads * s_.depth;
    const std::int64_t of_head = (b * s_.time * s_.heads + h) * s_.depth;
    pack_queries(q, at(a.dout.data, s_.type, of_head), at(a.out.data, s_.type, of_head), stride);
    if (first_of_group) pack_keys(k, v);
    lse_ = static_cast<const float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    start_bias(a, b, h);
    q_rows_ = rows(q, s_.depth, w_.q_rows);
    const std::int64_t g = h / (s_.heads / s_.groups);
    for (std::int64_t j = 0; j < s_.key_blocks(); ++j) {
      key_block(j, !first_of_group);
      if (!last_of_group) continue;
      store_keys(sum(w_.dk, j), j, of_keys(a, b, g));
      store_keys(sum(w_.dv, j), j, of_keys(a, b, s_.groups + g));
    }
    for (std::int64_t i = 0; i < s_.query_blocks(); ++i) {
      if (w_.spans[i].last == 0) {
        clear_sums(w_.out, i * kAttentionBlock, s_.queries_of(i), s_.time);
      }
    }
    const Rows to = of_queries(a, b, h);
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      store_panel(w_.out + d * s_.time * kPanel, s_.time, d, to.data, to.stride);
    }
  }

  void pack_queries(const void* q, const void* dout, const void* out, std::int64_t stride) {
    for (std::int64_t t = 0; t < s_.time; ++t) {
      w_.delta[t] = act_.dot(at(dout, s_.type, t * stride), at(out, s_.type, t * stride), s_.depth);
    }
    copy_rows(dout, stride, w_.dout_rows);
    transpose_blocks(q, s_.depth, w_.q_transposed);
    transpose_blocks(dout, stride, w_.dout_transposed);
  }
  void transpose_blocks(const void* from, std::int64_t stride, std::byte* to) {
    for (std::int64_t i = 0; i < s_.query_blocks(); ++i, to += s_.transposed_bytes()) {
      const std::int64_t count = s_.queries_of(i);
      s_.pack.transpose(at(from, s_.type, i * kAttentionBlock * stride), stride, s_.depth, count,
                        to, s_.even(count));
      clear_padding(to, s_.depth, count, s_.even(count));
    }
  }
  void pack_keys(const void* k, const void* v) {
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_time(v, s_.depth, w_.v_by_time);
    pack_by_depth(k, s_.depth, w_.k_by_depth);
  }

  /// Selects the head's dbias, which already holds the sums of the earlier sequences.
  void start_bias(const AttentionBackward& a, std::int64_t b, std::int64_t h) {
    const std::int64_t distances = s_.time + s_.keys - 1;
    dbias_ = a.dbias ? static_cast<float*>(a.dbias.data) + h * distances : nullptr;
    if (dbias_ != nullptr && b == 0) std::fill(dbias_, dbias_ + distances, 0.0F);
  }

  /// Computes dk and dv of block j, and adds its part to dq. `add`: adds to dk and dv of the
  /// group's earlier heads.
  void key_block(std::int64_t j, bool add) {
    for_runs(j, 0, s_.query_blocks(), [&](std::int64_t row, std::int64_t count) {
      by_time(q_rows_, row, count, w_.k_by_time, j, w_.scores);
      by_time(w_.dout_rows, row, count, w_.v_by_time, j, w_.dp);
      softmax_gradient(j, row, count);
      add_to_queries(j, row, count);
      for (std::int64_t i = row / kAttentionBlock; i * kAttentionBlock < row + count; ++i) {
        add_to_keys(w_.dout_transposed, i, w_.p, i * kAttentionBlock - row, sum(w_.dv, j), add);
        add_to_keys(w_.q_transposed, i, w_.ds, i * kAttentionBlock - row, sum(w_.dk, j), add);
        add = true;
      }
    });
    if (add) return;  // else no query sees these keys
    for (float* total : {sum(w_.dk, j), sum(w_.dv, j)}) {
      std::fill(total, total + s_.depth * kPanel, 0.0F);
    }
  }

  void softmax_gradient(std::int64_t j, std::int64_t row, std::int64_t count) {
    const AttentionTile scores = tile(j, row, count);
    s_.pack.softmax_backward(scores, {.dp = w_.dp,
                                      .lse = lse_ + row,
                                      .delta = w_.delta + row,
                                      .ds = w_.rows,
                                      .p_panel = w_.p,
                                      .ds_panel = w_.ds,
                                      .dbias = dbias_ ? dbias_ + distance(j, row) : nullptr});
    clear_padding(w_.rows, count, scores.columns, scores.stride);
  }

  /// dq of `count` queries += ds k, over the keys of block j.
  void add_to_queries(std::int64_t j, std::int64_t row, std::int64_t count) {
    const bool adds = !begins(j, row, count, w_.out, 0, s_.time);
    const TileProduct& product = this->product({s_.operand, count, s_.even(s_.keys_of(j)), adds});
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      product.run(w_.rows, panel_by_depth(w_.k_by_depth, d, j * kAttentionBlock),
                  w_.out + (d * s_.time + row) * kPanel, w_.onednn, thread_);
    }
  }

  /// to (depth, keys) (+)= transposed (depth, queries of block i) * panel (queries, keys).
  void add_to_keys(const std::byte* transposed, std::int64_t i, const std::byte* panel,
                   std::int64_t panel_row, float* to, bool add) {
    product({s_.operand, s_.depth, s_.even(s_.queries_of(i)), add})
        .run(transposed + i * s_.transposed_bytes(), element(panel, panel_row * kPanel), to,
             w_.onednn, thread_);
  }

  void store_keys(const float* total, std::int64_t j, const Rows& to) {
    act_.store_transposed(total, s_.depth, s_.keys_of(j),
                          at(to.data, s_.type, j * kAttentionBlock * to.stride), to.stride);
  }
  /// Returns dk or dv of block j, transposed: (depth, kPanel).
  [[nodiscard]] float* sum(float* total, std::int64_t j) const {
    return s_.groups == s_.heads ? total : total + j * s_.depth * kPanel;
  }

  const std::byte* q_rows_ = nullptr;
  const float* lse_ = nullptr;
  float* dbias_ = nullptr;
};

}  // namespace

// dbias is summed over sequences in order, so one task processes all sequences of its head.
template <>
void run(const Context& c, const AttentionBackward& a) {
  const AttentionSizes s = attention_sizes(c, {.qkv = a.qkv,
                                               .kv = a.kv,
                                               .ranges = a.ranges,
                                               .bias = a.bias,
                                               .out = {},
                                               .lse = {},
                                               .kv_heads = a.kv_heads,
                                               .window = a.window});
  DS_ASSERT(!a.dbias || a.bias);
  DS_ASSERT(s.cross == static_cast<bool>(a.dkv));
  const std::int64_t at_once = a.dbias ? s.batch : 1;
  for_attention_tasks(
      c, s, true, s.batch / at_once * s.groups,
      [&](const AttentionPieces& pieces, int thread, std::int64_t task) {
        for (std::int64_t b = 0; b < at_once; ++b) {
          Backward(c, s, pieces, thread).run(a, task / s.groups * at_once + b, task % s.groups);
        }
      });
}

}  // namespace ds::cpu
