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
    for (std::int64_t i = 0; i < each; ++i) head(a, b, g * each + i, i == 0);
    if (each == 1) return;
    for (std::int64_t j = 0; j < s_.blocks(); ++j) {
      store_sums(w_.dk, j, gradient(a, b, s_.heads + g, j));
      store_sums(w_.dv, j, gradient(a, b, s_.heads + s_.groups + g, j));
    }
  }

 private:
  [[nodiscard]] bool sums() const { return s_.heads != s_.groups; }

  /// Returns where the rows of block i of a head begin in dqkv. Rows hold query heads, then keys,
  /// then values.
  [[nodiscard]] void* gradient(const AttentionBackward& a, std::int64_t b, std::int64_t head,
                               std::int64_t i) const {
    return at(a.dqkv.data, s_.type,
              (b * s_.time + i * kAttentionBlock) * s_.row() + head * s_.depth);
  }

  void head(const AttentionBackward& a, std::int64_t b, std::int64_t h, bool first_of_group) {
    start(a, b, h);
    const auto [q, k, v] = inputs(a.qkv.data, b, h);
    const std::int64_t stride = s_.heads * s_.depth;
    const void* dout = at(a.dout.data, s_.type, (b * s_.time * s_.heads + h) * s_.depth);
    pack_queries(q, dout, at(a.out.data, s_.type, (b * s_.time * s_.heads + h) * s_.depth), stride);
    if (first_of_group) pack_keys(k, v);
    start_bias(a, b, h);
    lse_ = static_cast<const float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    const std::byte* q_rows = rows(q, s_.depth, w_.q_rows);
    const std::byte* k_rows = rows(k, s_.depth, w_.k_rows);
    const std::byte* v_rows = rows(v, s_.depth, w_.v_rows);
    const std::int64_t g = h / (s_.heads / s_.groups);
    for (std::int64_t i = 0; i < s_.blocks(); ++i) {
      query_block(i, q_rows, gradient(a, b, h, i));
      key_block(i, k_rows, v_rows);
      give_keys(w_.p, i, w_.dout_by_depth, w_.dv, gradient(a, b, s_.heads + s_.groups + g, i),
                first_of_group);
      give_keys(w_.ds, i, w_.q_by_depth, w_.dk, gradient(a, b, s_.heads + g, i), first_of_group);
    }
  }

  void pack_queries(const void* q, const void* dout, const void* out, std::int64_t stride) {
    for (std::int64_t t = 0; t < s_.time; ++t) {
      w_.delta[t] = act_.dot(at(dout, s_.type, t * stride), at(out, s_.type, t * stride), s_.depth);
    }
    copy_rows(dout, stride, w_.dout_rows);
    pack_by_time(q, s_.depth, w_.q_by_time);
    pack_by_time(dout, stride, w_.dout_by_time);
    pack_by_depth(q, s_.depth, w_.q_by_depth);
    pack_by_depth(dout, stride, w_.dout_by_depth);
  }
  void pack_keys(const void* k, const void* v) {
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_time(v, s_.depth, w_.v_by_time);
    pack_by_depth(k, s_.depth, w_.k_by_depth);
  }

  /// Prepares the bias in reversed order, as key blocks read it, and selects the head's dbias,
  /// which already holds the sums of the earlier sequences.
  void start_bias(const AttentionBackward& a, std::int64_t b, std::int64_t h) {
    const std::int64_t distances = 2 * s_.time - 1;
    for (std::int64_t d = 0; bias_ != nullptr && d < distances; ++d) {
      w_.bias_back[d] = bias_[distances - 1 - d];
    }
    dbias_ = a.dbias ? static_cast<float*>(a.dbias.data) + h * distances : nullptr;
    if (dbias_ != nullptr && b == 0) std::fill(dbias_, dbias_ + distances, 0.0F);
  }

  /// Computes dq of one block of queries: ds = p (dp - delta), row by row, over the visible keys.
  void query_block(std::int64_t i, const std::byte* q_rows, void* dq) {
    const std::int64_t count = s_.rows_of(i), seen = seen_by(i), padded = s_.even(seen);
    const std::int64_t first = i * kAttentionBlock;
    for (std::int64_t j = 0; j <= last_keys(i); ++j) {
      const std::int64_t column = j * kAttentionBlock, distance = s_.time - 1 - first + column;
      by_time(q_rows, i, w_.k_by_time, j, w_.scores);
      by_time(w_.dout_rows, i, w_.v_by_time, j, w_.dp);
      s_.pack.softmax_backward({.scores = w_.scores,
                                .dp = w_.dp,
                                .factors = factors(i, j, false),
                                .lse = lse_ + first,
                                .delta = w_.delta + first,
                                .p = nullptr,
                                .ds = element(w_.ds, column),
                                .stride = padded,
                                .rows = count,
                                .columns = s_.rows_of(j),
                                .diagonal = diagonal(i, j),
                                .scale = scale_,
                                .by_column = false,
                                .keys = keys_ - column,
                                .bias = bias_ ? bias_ + distance : nullptr,
                                .dbias = dbias_ ? dbias_ + distance : nullptr});
    }
    clear_padding(w_.ds, count, seen, padded);
    by_depth(w_.ds, count, padded, w_.k_by_depth, 0,
             [&](std::int64_t d) { store_panel(w_.tile, count, d, dq, s_.row()); });
  }

  /// Computes p and ds of one block of keys, transposed, over the queries that see these keys.
  void key_block(std::int64_t j, const std::byte* k_rows, const std::byte* v_rows) {
    const std::int64_t count = s_.rows_of(j), first = first_queries(j) * kAttentionBlock;
    const std::int64_t seen = s_.time - first, padded = s_.even(seen);
    for (std::int64_t i = first_queries(j); i < s_.blocks(); ++i) {
      by_time(k_rows, j, w_.q_by_time, i, w_.scores);
      by_time(v_rows, j, w_.dout_by_time, i, w_.dp);
      const std::int64_t row = i * kAttentionBlock, key = j * kAttentionBlock;
      s_.pack.softmax_backward({.scores = w_.scores,
                                .dp = w_.dp,
                                .factors = factors(i, j, true),
                                .lse = lse_ + row,
                                .delta = w_.delta + row,
                                .p = element(w_.p, row - first),
                                .ds = element(w_.ds, row - first),
                                .stride = padded,
                                .rows = count,
                                .columns = s_.rows_of(i),
                                .diagonal = diagonal(i, j),
                                .scale = scale_,
                                .by_column = true,
                                .keys = keys_ - key,
                                .bias = bias_ ? w_.bias_back + s_.time - 1 + row - key : nullptr});
    }
    clear_padding(w_.p, count, seen, padded);
    clear_padding(w_.ds, count, seen, padded);
  }

  /// Stores one query head's contribution to dk or dv of block j. With grouped heads, adds it to
  /// the group's sum instead.
  void give_keys(const std::byte* left, std::int64_t j, const std::byte* panels, float* total,
                 void* to, bool first_of_group) {
    const std::int64_t count = s_.rows_of(j), first = first_queries(j) * kAttentionBlock;
    by_depth(left, count, s_.even(s_.time - first), panels, first, [&](std::int64_t d) {
      if (!sums()) return store_panel(w_.tile, count, d, to, s_.row());
      c_.vector.add_tile(w_.tile, count, kPanel, sum_panel(total, d, j), kPanel, !first_of_group);
    });
  }
  void store_sums(float* total, std::int64_t j, void* to) {
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      store_panel(sum_panel(total, d, j), s_.rows_of(j), d, to, s_.row());
    }
  }
  [[nodiscard]] float* sum_panel(float* total, std::int64_t d, std::int64_t j) const {
    return total + (d * s_.time + j * kAttentionBlock) * kPanel;
  }

  /// Returns SoftmaxBackwardTile::diagonal. Without a causal mask every row sees every column.
  [[nodiscard]] std::int64_t diagonal(std::int64_t i, std::int64_t j) const {
    return causal_ ? (i - j) * kAttentionBlock : 2 * kPanel;
  }

  const float* lse_ = nullptr;
  float* dbias_ = nullptr;
};

}  // namespace

// dbias is summed over sequences in order, so one task processes all sequences of its head.
template <>
void run(const Context& c, const AttentionBackward& a) {
  const AttentionSizes s = attention_sizes(c, a.qkv, a.kv_heads);
  DS_ASSERT(!a.dbias || a.bias);
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
