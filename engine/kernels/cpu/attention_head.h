// AttentionHead: operands of products, masks and dropout that forward and backward attention of one
// (sequence, head) share.
#pragma once

#include <cstring>

#include "engine/kernels/cpu/attention_layout.h"
#include "engine/kernels/cpu/dropout.h"
#include "engine/kernels/cpu/ops.h"

namespace ds::cpu {

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
    first_group_ = static_cast<std::uint64_t>(h * s_.time * s_.blocks());
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
  [[nodiscard]] Inputs inputs(const void* qkv, std::int64_t b, std::int64_t h) const {
    const std::int64_t each = s_.time * s_.depth, g = h / (s_.heads / s_.groups);
    const std::int64_t keys = s_.batch * s_.heads + b * s_.groups + g;
    return {at(qkv, s_.type, (b * s_.heads + h) * each), at(qkv, s_.type, keys * each),
            at(qkv, s_.type, (keys + s_.batch * s_.groups) * each)};
  }

  template <class Op>
  void start(const Op& a, std::int64_t b, std::int64_t h) {
    draw(a.dropout, b, h);
    causal_ = a.causal;
    scale_ = a.scale != 0 ? a.scale : 1.0F / __builtin_sqrtf(static_cast<float>(s_.depth));
    keys_ = a.lengths ? static_cast<const std::int32_t*>(a.lengths.data)[b] : s_.time;
    bias_ = a.bias ? static_cast<const float*>(a.bias.data) + h * (2 * s_.time - 1) : nullptr;
  }
  /// Returns the first query that sees the keys of block j.
  [[nodiscard]] std::int64_t first_query(std::int64_t j) const {
    return causal_ ? j * kAttentionBlock : 0;
  }
  /// Returns the tile of `count` queries from `row` on and the keys of block j, whose scores are in
  /// w_.scores.
  [[nodiscard]] AttentionTile tile(std::int64_t j, std::int64_t row, std::int64_t count) const {
    const std::int64_t key = j * kAttentionBlock, columns = s_.rows_of(j);
    return {.scores = w_.scores,
            .rows = count,
            .columns = columns,
            .diagonal = causal_ ? row - key : kPanel,
            .keys = std::min(keys_ - key, columns),
            .scale = scale_,
            .bias = bias_ ? bias_ + distance(j, row) : nullptr,
            .dropout = drops_ ? &dropout_ : nullptr,
            .group = first_group_ + static_cast<std::uint64_t>(row * s_.blocks() + j),
            .groups_per_row = s_.blocks(),
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
  bool drops_ = false, causal_ = true;
  float scale_ = 1;
  std::int64_t keys_ = 0;        // valid keys of this sequence
  const float* bias_ = nullptr;  // bias of this head, by key - query + T - 1
  DropoutKey dropout_{};
  std::uint64_t first_group_ = 0;
};

/// Prepares every matrix product of the forward or the backward pass.
void prepare_attention(const Context& c, const AttentionSizes& s, bool backward);

AttentionSizes attention_sizes(const Context& c, const ConstTensor& qkv, std::int64_t kv_heads);

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
