// AttentionHead: operands of products, masks and dropout that forward and backward attention of one
// (sequence, head) share.
#pragma once

#include <cstring>

#include "engine/kernels/cpu/attention_layout.h"
#include "engine/kernels/cpu/dropout.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {

/// The masks of an attention.
struct AttentionMask {
  bool causal;
  std::int64_t window;
  const std::int32_t* ranges;  // (B, T, 2), or null
};
template <class Op>
AttentionMask mask_of(const Op& a) {
  return {a.causal, a.window, static_cast<const std::int32_t*>(a.ranges.data)};
}

/// Base class of the forward and backward pass of one head. Runs in one thread, with its own
/// scratch.
class AttentionHead {
 public:
  AttentionHead(const Context& c, const AttentionSizes& s, const AttentionPieces& pieces,
                int thread)
      : c_(c), s_(s), w_(pieces), thread_(thread), act_(c.act(s.type)) {}

 protected:
  void draw(const DropoutDraw& draw, std::int64_t b, std::int64_t h) {
    drops_ = draw.rate != 0;
    if (!drops_) return;
    DS_ASSERT(draw.samples.elements() == s_.batch);
    dropout_ = dropout_key(draw, b);
    first_group_ = static_cast<std::uint64_t>(h * s_.time * s_.key_blocks());
  }
  [[nodiscard]] std::byte* element(std::byte* data, std::int64_t index) const {
    return data + index * s_.pack.element_bytes;
  }
  [[nodiscard]] const std::byte* element(const std::byte* data, std::int64_t index) const {
    return data + index * s_.pack.element_bytes;
  }

  struct Inputs {
    const void *q, *k, *v;
  };
  /// Returns query head h and the head of keys and values that it uses.
  template <class Op>
  [[nodiscard]] Inputs inputs(const Op& a, std::int64_t b, std::int64_t h) const {
    const std::int64_t each = s_.keys * s_.depth, g = h / (s_.heads / s_.groups);
    const void* from = s_.cross ? a.kv.data : a.qkv.data;
    const std::int64_t before = s_.cross ? 0 : s_.batch * s_.heads;  // heads before the keys
    const std::int64_t k = before + b * s_.groups + g;
    return {at(a.qkv.data, s_.type, (b * s_.heads + h) * s_.time * s_.depth),
            at(from, s_.type, k * each), at(from, s_.type, (k + s_.batch * s_.groups) * each)};
  }

  template <class Op>
  void start(const Op& a, std::int64_t b, std::int64_t h) {
    draw(a.dropout, b, h);
    scale_ = a.scale != 0 ? a.scale : 1.0F / __builtin_sqrtf(static_cast<float>(s_.depth));
    const std::int64_t distances = s_.time + s_.keys - 1;
    bias_ = a.bias ? static_cast<const float*>(a.bias.data) + h * distances : nullptr;
    find_seen_keys(mask_of(a), b);
  }
  /// Fills in w_.seen and w_.spans.
  void find_seen_keys(const AttentionMask& mask, std::int64_t b);

  /// Returns whether a query of block i sees a key of block j.
  [[nodiscard]] bool meets(std::int64_t i, std::int64_t j) const {
    return first_block(i) <= j && j < end_block(i);
  }
  [[nodiscard]] std::int64_t first_block(std::int64_t i) const {
    return w_.spans[i].first / kAttentionBlock;
  }
  [[nodiscard]] std::int64_t end_block(std::int64_t i) const {
    return ceil_div(w_.spans[i].last, kAttentionBlock);
  }
  /// Calls body(first query, count) for each run of blocks of queries in [i, end) that see keys of
  /// block j, at most kQueries at once.
  template <class Body>
  void for_runs(std::int64_t j, std::int64_t i, std::int64_t end, const Body& body) const {
    while (i < end) {
      const std::int64_t first = i;
      while (i < end && (i - first) * kAttentionBlock < kQueries && meets(i, j)) ++i;
      const std::int64_t row = first * kAttentionBlock;
      if (i > first) body(row, std::min(i * kAttentionBlock, s_.time) - row);
      if (i < end && !meets(i, j)) ++i;
    }
  }
  /// Returns whether the keys of block j are the first of those that the queries [row, row + count)
  /// see, so that their sums over keys begin there. Where they are the first for some blocks of
  /// queries only, sets the sums of these to zero. `sums` holds panels of `rows_of_panel` queries
  /// from `first` on.
  bool begins(std::int64_t j, std::int64_t row, std::int64_t count, float* sums, std::int64_t first,
              std::int64_t rows_of_panel) const;
  /// Sets the sums of `count` queries to zero.
  void clear_sums(float* sums, std::int64_t query, std::int64_t count,
                  std::int64_t rows_of_panel) const {
    for (std::int64_t d = 0; d < s_.depth_panels(); ++d) {
      std::memset(sums + (d * rows_of_panel + query) * kPanel, 0,
                  static_cast<std::size_t>(count * kPanel) * sizeof(float));
    }
  }

  /// Returns the tile of `count` queries from `row` on and the keys of block j, whose scores are in
  /// w_.scores.
  [[nodiscard]] AttentionTile tile(std::int64_t j, std::int64_t row, std::int64_t count) const {
    const std::int64_t columns = s_.keys_of(j);
    return {.scores = w_.scores,
            .rows = count,
            .columns = columns,
            .key = j * kAttentionBlock,
            .seen = w_.seen + row,
            .scale = scale_,
            .bias = bias_ ? bias_ + distance(j, row) : nullptr,
            .dropout = drops_ ? &dropout_ : nullptr,
            .group = first_group_ + static_cast<std::uint64_t>(row * s_.key_blocks() + j),
            .groups_per_row = s_.key_blocks(),
            .stride = s_.even(columns)};
  }
  /// Returns where biases of query `row` and the first key of block j begin.
  [[nodiscard]] std::int64_t distance(std::int64_t j, std::int64_t row) const {
    return s_.time - 1 - row + j * kAttentionBlock;
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
  /// Pack the blocks of keys that some query sees, from keys_.first to keys_.last.
  void pack_by_time(const void* from, std::int64_t stride, std::byte* to) {
    for (std::int64_t j = keys_.first; j < keys_.last; ++j) {
      s_.pack.panel_of_transposed(at(from, s_.type, j * kAttentionBlock * stride), stride, s_.depth,
                                  s_.keys_of(j), to + j * s_.time_panel_bytes());
    }
  }
  void pack_by_depth(const void* from, std::int64_t stride, std::byte* to) {
    const std::int64_t first = keys_.first * kAttentionBlock;
    const std::int64_t count = std::min(keys_.last * kAttentionBlock, s_.keys) - first;
    for (std::int64_t d = 0; d < s_.depth_panels() && count > 0; ++d) {
      s_.pack.panel(at(from, s_.type, first * stride + d * kPanel), stride, count,
                    std::min(kPanel, s_.depth - d * kPanel),
                    element(to + d * s_.depth_panel_bytes(), first * kPanel));
    }
  }
  /// Multiplies `count` rows by panel j: (rows, positions).
  void by_time(const std::byte* left, std::int64_t row, std::int64_t count, const std::byte* panels,
               std::int64_t j, float* to) {
    const std::int64_t k = s_.even(s_.depth);
    product({s_.operand, count, k})
        .run(element(left, row * k), panels + j * s_.time_panel_bytes(), to, w_.onednn, thread_);
  }
  /// Returns panel d of (time, depth), from position `first` on.
  [[nodiscard]] const std::byte* panel_by_depth(const std::byte* panels, std::int64_t d,
                                                std::int64_t first) const {
    return element(panels + d * s_.depth_panel_bytes(), first * kPanel);
  }
  [[nodiscard]] const TileProduct& product(const TileShape& shape) const {
    return c_.products.find(shape);
  }
  /// Stores panel d of `count` rows as activations.
  void store_panel(const float* panel, std::int64_t count, std::int64_t d, void* to,
                   std::int64_t stride) {
    act_.store_tile(panel, count, std::min(kPanel, s_.depth - d * kPanel),
                    {.out = at(to, s_.type, d * kPanel), .stride = stride});
  }

  const Context& c_;
  const AttentionSizes& s_;
  const AttentionPieces& w_;
  int thread_;
  const ActKernels& act_;
  bool drops_ = false;
  float scale_ = 1;
  KeyInterval keys_{};           // blocks of keys: from the first to the last that a query sees
  const float* bias_ = nullptr;  // bias of this head, by key - query + T - 1
  DropoutKey dropout_{};
  std::uint64_t first_group_ = 0;
};

/// Prepares every matrix product of the forward or the backward pass.
void prepare_attention(const Context& c, const AttentionSizes& s, bool backward);

/// Returns the sizes of an attention. Shapes that do not fit each other are bugs.
AttentionSizes attention_sizes(const Context& c, const Attention& a);

/// Calls body(pieces, thread, task) for tasks 0 ... tasks - 1 on the pool.
template <class Body>
void for_attention_tasks(const Context& c, const AttentionSizes& s, bool backward,
                         std::int64_t tasks, Body body) {
  prepare_attention(c, s, backward);
  Scratch measure;
  const AttentionPieces measured(measure, s, backward);
  const std::size_t each = measure.used();
  DS_ASSERT(each * static_cast<std::size_t>(c.pool.size()) <= c.workspace_bytes,
            "workspace_bytes() was called with smaller extents");
  c.pool.parallel_for(tasks, [&](std::int64_t task, int thread) {
    Scratch scratch(c.workspace + static_cast<std::size_t>(thread) * each, each);
    const AttentionPieces pieces(scratch, s, backward);
    body(pieces, thread, task);
  });
}

}  // namespace ds::cpu
