// Causal attention, one task per (sequence, head): exact softmax over blocks of 64 rows.
#include <cstring>

#include "engine/kernels/cpu/attention_layout.h"
#include "engine/kernels/cpu/dropout.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {
namespace {

/// Work of one (sequence, head) in one thread.
class Head {
 public:
  Head(const Context& c, const AttentionSizes& s, const AttentionPieces& pieces, int thread)
      : c_(c), s_(s), w_(pieces), thread_(thread), act_(c.act(s.type)) {}

  void forward(const Attention& a, std::int64_t b, std::int64_t h) {
    draw(a.dropout, b, h);
    const auto [q, k, v] = inputs(a.qkv.data, b, h);
    const std::byte* q_rows = rows(q, s_.depth, w_.q_rows);
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_depth(v, s_.depth, w_.v_by_depth);
    float* lse = static_cast<float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    for (std::int64_t i = 0; i < s_.blocks(); ++i) {
      const std::int64_t count = s_.rows_of(i);
      for (std::int64_t j = 0; j <= i; ++j) {
        by_time(q_rows, i, w_.k_by_time, j, w_.scores + j * kAttentionBlock * kPanel);
      }
      const std::int64_t seen = s_.even(i * kAttentionBlock + count);
      s_.pack.attention_softmax({.in = w_.scores,
                                 .in_stride = kAttentionBlock * kPanel,
                                 .rows = count,
                                 .columns = seen,
                                 .first_valid = i * kAttentionBlock + 1,
                                 .scale = scale(),
                                 .out = w_.p,
                                 .lse = lse + i * kAttentionBlock,
                                 .dropout = drops_ ? &dropout_ : nullptr,
                                 .group = group(i, 0),
                                 .groups_per_row = s_.blocks()});
      by_depth(
          w_.p, count, seen, w_.v_by_depth, 0,
          at(a.out.data, s_.type, ((b * s_.time + i * kAttentionBlock) * s_.heads + h) * s_.depth),
          s_.heads * s_.depth);
    }
  }

  void backward(const AttentionBackward& a, std::int64_t b, std::int64_t h) {
    draw(a.dropout, b, h);
    const auto [q, k, v] = inputs(a.qkv.data, b, h);
    const std::int64_t stride = s_.heads * s_.depth,
                       first = (b * s_.time * s_.heads + h) * s_.depth;
    const void* dout = at(a.dout.data, s_.type, first);
    const void* out = at(a.out.data, s_.type, first);
    for (std::int64_t t = 0; t < s_.time; ++t) {
      w_.delta[t] = act_.dot(at(dout, s_.type, t * stride), at(out, s_.type, t * stride), s_.depth);
    }
    copy_rows(dout, stride, w_.dout_rows);
    pack_by_time(q, s_.depth, w_.q_by_time);
    pack_by_time(k, s_.depth, w_.k_by_time);
    pack_by_time(v, s_.depth, w_.v_by_time);
    pack_by_time(dout, stride, w_.dout_by_time);
    pack_by_depth(q, s_.depth, w_.q_by_depth);
    pack_by_depth(k, s_.depth, w_.k_by_depth);
    pack_by_depth(dout, stride, w_.dout_by_depth);
    const float* lse = static_cast<const float*>(a.lse.data) + (b * s_.heads + h) * s_.time;
    const std::byte* q_rows = rows(q, s_.depth, w_.q_rows);
    const std::byte* k_rows = rows(k, s_.depth, w_.k_rows);
    const std::byte* v_rows = rows(v, s_.depth, w_.v_rows);
    const auto gradient = [&](std::int64_t which, std::int64_t t) {
      return at(a.dqkv.data, s_.type, (((b * s_.time + t) * 3 + which) * s_.heads + h) * s_.depth);
    };
    for (std::int64_t i = 0; i < s_.blocks(); ++i) {
      query_block(i, q_rows, lse, gradient(0, i * kAttentionBlock));
      key_block(i, k_rows, v_rows, lse, gradient(1, i * kAttentionBlock),
                gradient(2, i * kAttentionBlock));
    }
  }

 private:
  /// dq of one block of queries: ds = p (dp - delta), row by row, over the keys they see.
  void query_block(std::int64_t i, const std::byte* q_rows, const float* lse, void* dq) {
    const std::int64_t count = s_.rows_of(i), seen = i * kAttentionBlock + count,
                       padded = s_.even(seen);
    for (std::int64_t j = 0; j <= i; ++j) {
      by_time(q_rows, i, w_.k_by_time, j, w_.scores);
      by_time(w_.dout_rows, i, w_.v_by_time, j, w_.dp);
      s_.pack.softmax_backward({.scores = w_.scores,
                                .dp = w_.dp,
                                .factors = factors(i, j, false),
                                .lse = lse + i * kAttentionBlock,
                                .delta = w_.delta + i * kAttentionBlock,
                                .p = nullptr,
                                .ds = element(w_.ds, j * kAttentionBlock),
                                .stride = padded,
                                .rows = count,
                                .columns = s_.rows_of(j),
                                .diagonal = (i - j) * kAttentionBlock,
                                .scale = scale(),
                                .by_column = false});
    }
    clear_padding(w_.ds, count, seen, padded);
    by_depth(w_.ds, count, padded, w_.k_by_depth, 0, dq, 3 * s_.heads * s_.depth);
  }

  /// dk and dv of one block of keys: p and ds transposed, over the queries that see them.
  void key_block(std::int64_t j, const std::byte* k_rows, const std::byte* v_rows, const float* lse,
                 void* dk, void* dv) {
    const std::int64_t count = s_.rows_of(j), first = j * kAttentionBlock, seen = s_.time - first;
    const std::int64_t padded = s_.even(seen);
    for (std::int64_t i = j; i < s_.blocks(); ++i) {
      by_time(k_rows, j, w_.q_by_time, i, w_.scores);
      by_time(v_rows, j, w_.dout_by_time, i, w_.dp);
      const std::int64_t column = (i - j) * kAttentionBlock;
      s_.pack.softmax_backward({.scores = w_.scores,
                                .dp = w_.dp,
                                .factors = factors(i, j, true),
                                .lse = lse + i * kAttentionBlock,
                                .delta = w_.delta + i * kAttentionBlock,
                                .p = element(w_.p, column),
                                .ds = element(w_.ds, column),
                                .stride = padded,
                                .rows = count,
                                .columns = s_.rows_of(i),
                                .diagonal = column,
                                .scale = scale(),
                                .by_column = true});
    }
    clear_padding(w_.p, count, seen, padded);
    clear_padding(w_.ds, count, seen, padded);
    by_depth(w_.p, count, padded, w_.dout_by_depth, first, dv, 3 * s_.heads * s_.depth);
    by_depth(w_.ds, count, padded, w_.q_by_depth, first, dk, 3 * s_.heads * s_.depth);
  }

  void draw(const DropoutDraw& draw, std::int64_t b, std::int64_t h) {
    drops_ = draw.rate != 0;
    if (!drops_) return;
    DS_ASSERT(draw.samples.elements() == s_.batch);
    dropout_ = dropout_key(draw, b);
    first_group_ = static_cast<std::uint64_t>(h * s_.time * s_.blocks());
  }
  /// Dropout's 64 elements of the first query of block i and the keys of block j.
  [[nodiscard]] std::uint64_t group(std::int64_t i, std::int64_t j) const {
    return first_group_ + static_cast<std::uint64_t>(i * kAttentionBlock * s_.blocks() + j);
  }
  /// Dropout's factors of the queries of block i and the keys of block j.
  const float* factors(std::int64_t i, std::int64_t j, bool by_column) {
    if (!drops_) return nullptr;
    c_.vector.dropout_tile({.key = &dropout_,
                            .group = group(i, j),
                            .groups_per_query = s_.blocks(),
                            .queries = s_.rows_of(i),
                            .by_column = by_column,
                            .out = w_.factors});
    return w_.factors;
  }

  [[nodiscard]] float scale() const { return 1.0F / __builtin_sqrtf(static_cast<float>(s_.depth)); }
  [[nodiscard]] std::byte* element(std::byte* data, std::int64_t index) const {
    return data + index * s_.pack.element_bytes;
  }

  struct Inputs {
    const void *q, *k, *v;
  };
  [[nodiscard]] Inputs inputs(const void* qkv, std::int64_t b, std::int64_t h) const {
    const auto part = [&](std::int64_t s) {
      return at(qkv, s_.type, ((s * s_.batch + b) * s_.heads + h) * s_.time * s_.depth);
    };
    return {part(0), part(1), part(2)};
  }

  const std::byte* rows(const void* from, std::int64_t stride, std::byte* copy) {
    if (s_.direct()) return static_cast<const std::byte*>(from);
    copy_rows(from, stride, copy);
    return copy;
  }
  void copy_rows(const void* from, std::int64_t stride, std::byte* to) {
    const std::int64_t padded = s_.even(s_.depth);
    s_.pack.copy(from, stride, s_.time, s_.depth, to, padded);
    clear_padding(to, s_.time, s_.depth, padded);
  }
  void clear_padding(std::byte* data, std::int64_t count, std::int64_t used, std::int64_t padded) {
    if (used == padded) return;
    for (std::int64_t r = 0; r < count; ++r) {
      std::memset(element(data, r * padded + used), 0,
                  static_cast<std::size_t>((padded - used) * s_.pack.element_bytes));
    }
  }
  void pack_by_time(const void* from, std::int64_t stride, std::byte* to) {
    for (std::int64_t j = 0; j < s_.blocks(); ++j) {
      s_.pack.panel_of_transposed(at(from, s_.type, j * kAttentionBlock * stride), stride, s_.depth,
                                  s_.rows_of(j), to + j * s_.time_panel_bytes());
    }
  }
  void pack_by_depth(const void* from, std::int64_t stride, std::byte* to) {
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      s_.pack.panel(at(from, s_.type, d * kPanel), stride, s_.time,
                    std::min(kPanel, s_.depth - d * kPanel), to + d * s_.depth_panel_bytes());
    }
  }
  /// Rows of block i times panel j: (rows, positions).
  void by_time(const std::byte* left, std::int64_t i, const std::byte* panels, std::int64_t j,
               float* to) {
    const std::int64_t k = s_.even(s_.depth);
    c_.products.find(s_.operand, s_.rows_of(i), k)
        .run(left + i * kAttentionBlock * k * s_.pack.element_bytes,
             panels + j * s_.time_panel_bytes(), to, w_.onednn, thread_);
  }
  /// (count, k) times rows `first` ... of (time, depth), into activations.
  void by_depth(const std::byte* left, std::int64_t count, std::int64_t k, const std::byte* panels,
                std::int64_t first, void* to, std::int64_t stride) {
    const TileProduct& product = c_.products.find(s_.operand, count, k);
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      product.run(left,
                  panels + d * s_.depth_panel_bytes() + first * kPanel * s_.pack.element_bytes,
                  w_.tile, w_.onednn, thread_);
      act_.store_tile(w_.tile, count, std::min(kPanel, s_.depth - d * kPanel),
                      {.out = at(to, s_.type, d * kPanel), .stride = stride});
    }
  }

  const Context& c_;
  const AttentionSizes& s_;
  const AttentionPieces& w_;
  int thread_;
  const ActKernels& act_;
  bool drops_ = false;
  DropoutKey dropout_{};
  std::uint64_t first_group_ = 0;
};

/// Every product that a head will ask for.
void prepare(const Context& c, const AttentionSizes& s) {
  for (std::int64_t i = 0; i < s.blocks(); ++i) {
    c.products.prepare(s.operand, s.rows_of(i), s.even(s.depth));
    c.products.prepare(s.operand, s.rows_of(i), s.even(i * kAttentionBlock + s.rows_of(i)));
    c.products.prepare(s.operand, s.rows_of(i), s.even(s.time - i * kAttentionBlock));
  }
}

AttentionSizes sizes_of(const Context& c, const ConstTensor& qkv) {
  const Shape& shape = qkv.shape;
  return {c, qkv.dtype, shape[1], shape[2], shape[3], shape[4]};
}

template <class Body>
void for_heads(const Context& c, const AttentionSizes& s, bool backward, Body body) {
  prepare(c, s);
  Scratch measure;
  const AttentionPieces measured(measure, s, backward);
  const std::size_t each = measure.used();
  DS_ASSERT(each * static_cast<std::size_t>(c.pool.size()) <= c.workspace_bytes,
            "workspace_bytes() was asked for smaller extents");
  c.pool.parallel_for(s.batch * s.heads, [&](std::int64_t task, int thread) {
    Scratch scratch(c.workspace + static_cast<std::size_t>(thread) * each, each);
    const AttentionPieces pieces(scratch, s, backward);
    body(Head(c, s, pieces, thread), task / s.heads, task % s.heads);
  });
}

}  // namespace

void run(const Context& c, const Attention& a) {
  for_heads(c, sizes_of(c, a.qkv), false,
            [&](Head head, std::int64_t b, std::int64_t h) { head.forward(a, b, h); });
}

void run(const Context& c, const AttentionBackward& a) {
  for_heads(c, sizes_of(c, a.qkv), true,
            [&](Head head, std::int64_t b, std::int64_t h) { head.backward(a, b, h); });
}

std::size_t attention_scratch_bytes(const Context& c, const Kernels::Extents& e) {
  if (e.heads == 0) return 0;
  const AttentionSizes s(c, e.act, e.micro, e.heads, e.seq_len, e.width / e.heads);
  std::size_t largest = 0;
  for (const bool backward : {false, true}) {
    Scratch scratch;
    const AttentionPieces pieces(scratch, s, backward);
    largest = std::max(largest, scratch.used());
  }
  return largest * static_cast<std::size_t>(c.pool.size());
}

}  // namespace ds::cpu
