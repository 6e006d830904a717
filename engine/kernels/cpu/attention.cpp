// Forward attention: one task per (sequence, head). The softmax runs over one panel of keys after
// the other (Milakov and Gimelshein 2018; Dao et al. 2022), so that scores stay in cache.
#include "engine/kernels/cpu/attention_head.h"
#include "engine/kernels/cpu/attention_step.h"

namespace ds::cpu {
namespace {

class Forward : public AttentionHead {
 public:
  using AttentionHead::AttentionHead;

  void run(const Attention& a, std::int64_t b, std::int64_t h) {
    start(a, b, h);
    const auto [q, k, v] = inputs(a, b, h);
    q_rows_ = rows(q, s_.depth, w_.q_rows);
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_depth(v, s_.depth, w_.v_by_depth);
    float* lse = static_cast<float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    for (std::int64_t row = 0; row < s_.time; row += kQueries) {
      const std::int64_t count = std::min(kQueries, s_.time - row);
      std::fill(w_.top, w_.top + count, kLowestLogit);
      std::fill(w_.total, w_.total + count, 0.0F);
      const std::int64_t last = ceil_div(row + count, kAttentionBlock);
      for (std::int64_t i = row / kAttentionBlock; i < last; ++i) {
        if (w_.spans[i].last == 0) {
          clear_sums(w_.out, i * kAttentionBlock - row, s_.queries_of(i), s_.queries());
        }
      }
      for (std::int64_t j = keys_.first; j < keys_.last; ++j) {
        for_runs(j, row / kAttentionBlock, last, [&](std::int64_t first, std::int64_t queries) {
          key_block(j, row, first - row, queries);
        });
      }
      c_.vector.end_softmax({w_.top, w_.total, nullptr}, count, lse + row, w_.rescale);
      void* to = at(a.out.data, s_.type, ((b * s_.time + row) * s_.heads + h) * s_.depth);
      for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
        c_.vector.scale_rows(out(d, 0), count, w_.rescale);
        store_panel(out(d, 0), count, d, to, s_.heads * s_.depth);
      }
    }
  }

 private:
  /// Adds the values of block j to the sums of the queries [row + skip, row + skip + queries).
  void key_block(std::int64_t j, std::int64_t row, std::int64_t skip, std::int64_t queries) {
    by_time(q_rows_, row + skip, queries, w_.k_by_time, j, w_.scores);
    const AttentionTile scores = tile(j, row + skip, queries);
    s_.pack.softmax(scores, w_.rows, {w_.top + skip, w_.total + skip, w_.rescale});
    clear_padding(w_.rows, queries, scores.columns, scores.stride);
    const bool adds = !begins(j, row + skip, queries, w_.out, row, s_.queries());
    const TileProduct& times_v = product({s_.operand, queries, scores.stride, adds});
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      if (adds) c_.vector.scale_rows(out(d, skip), queries, w_.rescale);
      times_v.run(w_.rows, panel_by_depth(w_.v_by_depth, d, j * kAttentionBlock), out(d, skip),
                  w_.onednn, thread_);
    }
  }
  [[nodiscard]] float* out(std::int64_t d, std::int64_t query) const {
    return w_.out + (d * s_.queries() + query) * kPanel;
  }

  const std::byte* q_rows_ = nullptr;
};

}  // namespace

template <>
void run(const Context& c, const Attention& a) {
  const AttentionSizes s = attention_sizes(c, a);
  if (s.time == 1 && a.dropout.rate == 0) return attend_one_query(c, s, a);
  for_attention_tasks(c, s, false, s.batch * s.heads,
                      [&](const AttentionPieces& pieces, int thread, std::int64_t task) {
                        Forward(c, s, pieces, thread).run(a, task / s.heads, task % s.heads);
                      });
}

std::size_t attention_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  const std::int64_t groups = e.kv_heads == 0 ? e.heads : e.kv_heads;
  const std::int64_t depth = e.head_size == 0 ? e.width / e.heads : e.head_size;
  const std::int64_t keys = std::max(e.key_len, e.seq_len);
  const AttentionSizes s(c, e.act, e.micro, e.heads, groups, e.seq_len, keys, depth, false);
  std::size_t largest = 0;
  for (const bool backward : {false, true}) {
    Scratch scratch;
    const AttentionPieces pieces(scratch, s, backward);
    largest = std::max(largest, scratch.used());
  }
  return largest * static_cast<std::size_t>(c.pool.size());
}

}  // namespace ds::cpu
