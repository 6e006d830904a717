// The inner loops of the CPU backend as tables of functions, one table per instruction set and
// type. A loop processes one tile in one thread. Callers assign tiles to threads from shapes alone.
#pragma once

#include <cstdint>

#include "engine/kernels/kernels.h"
#include "engine/kernels/update_rule.h"

namespace ds::cpu {

/// Columns of B in one oneDNN product: four registers of sixteen.
inline constexpr std::int64_t kPanel = 64;

/// Epilogue of a tile of a product. `out` and `pre` point at the tile's first element.
struct TileOutput {
  const void* bias = nullptr;  // one value per column, or null
  void* out = nullptr;
  void* pre = nullptr;             // if set, out = activation(pre)
  const void* slope_of = nullptr;  // if set, out = tile * activation'(slope_of)
  std::int64_t stride = 0;
  Activation activation = Activation::gelu_tanh;
};

struct LayerNormRows {
  const void *in, *delta, *weight, *bias;
  void *sum, *out;
  float *mean, *rstd;
  std::int64_t width;
  float eps;
};

struct LayerNormBackwardRows {
  const void *dout, *in, *weight, *dresidual;
  const float *mean, *rstd;
  void* din;
  float *dweight, *dbias;  // partial sums of these rows, overwritten
  std::int64_t width;
};

struct RmsNormRows {
  const void *in, *delta, *weight;
  void *sum, *out;
  float* rstd;  // may be null
  std::int64_t width;
  float eps;
};

struct RmsNormBackwardRows {
  const void *dout, *in, *weight, *dresidual;
  const float* rstd;
  void* din;
  float* dweight;  // partial sums of these rows, overwritten
  std::int64_t width;
};

/// Random key of one sample's dropout, for dropout_words() and drop().
struct DropoutKey {
  std::uint32_t philox[2];
  std::uint64_t sample;
  float threshold;  // rate * 2^24: elements whose 24 bits are below it are dropped
  float scale;      // 1 / (1 - rate)
};

/// The keys [first, last) that a query sees.
struct KeyInterval {
  std::int32_t first, last;
};

/// Scores of some queries and one panel of keys, from `key` on. Row r sees the keys of seen[r]; its
/// logits are scores * scale + bias.
struct AttentionTile {
  const float* scores;  // (rows, kPanel)
  std::int64_t rows, columns, key;
  const KeyInterval* seen;
  float scale;
  const float* bias = nullptr;          // of row 0; row r's starts r before it
  const DropoutKey* dropout = nullptr;  // of the probabilities, or null
  std::uint64_t group =
      0;  // first group (64 elements) of row 0; row r's is r * groups_per_row later
  std::int64_t groups_per_row = 0;
  std::int64_t stride = 0;  // of the rows of p or ds that are written
};

/// Below every logit that is seen.
inline constexpr float kLowestLogit = -3.0e38F;

/// What a softmax over several tiles keeps for each row. It begins with `top` kLowestLogit and
/// `total` 0.
struct RunningSoftmax {
  float* top;      // the largest logit so far
  float* total;    // the sum of e^(logit - top)
  float* rescale;  // written: earlier results count this much less, because `top` has grown
};

/// Operands and results of the softmax's gradient: p = e^(logit - lse), ds = p * (dp - delta) *
/// scale. With dropout factors f: ds = p * (f * dp - delta) * scale, and then p *= f.
struct SoftmaxGradient {
  const float* dp;           // (rows, kPanel)
  const float *lse, *delta;  // per row
  void* ds;                  // as rows of A: (rows, columns)
  void *p_panel, *ds_panel;  // as panels of B: k are the rows, padded to k_multiple
  float* dbias = nullptr;    // += p (dp - delta), if there is a bias
};

/// An OptimizerRule without std::variant: code of std that is compiled for one instruction set must
/// not be shared with others.
struct UpdateRow {
  OptimizerType type;
  const void* coefficients;  // the alternative of OptimizerRule
};

struct UpdateRange {
  const float* grad;
  float *master, *m, *v;  // v: only for the two kinds of Adam
  void* weights;
  std::uint16_t* low;  // for update_split, which has no master
  std::int64_t n;
};

/// Loops for elements of type `act`. `tile` is a product: (rows, kPanel) f32.
struct ActKernels {
  void (*store_tile)(const float* tile, std::int64_t rows, std::int64_t columns,
                     const TileOutput& to);
  /// out[c * stride + r] = tile[r * kPanel + c].
  void (*store_transposed)(const float* tile, std::int64_t rows, std::int64_t columns, void* out,
                           std::int64_t stride);
  void (*embed_row)(const void* token_row, const void* position_row, void* out, std::int64_t n);
  void (*layer_norm)(const LayerNormRows& a, std::int64_t row, std::int64_t rows);
  void (*layer_norm_backward)(const LayerNormBackwardRows& a, std::int64_t row, std::int64_t rows);
  void (*rms_norm)(const RmsNormRows& a, std::int64_t row, std::int64_t rows);
  void (*rms_norm_backward)(const RmsNormBackwardRows& a, std::int64_t row, std::int64_t rows);
  /// out = activation(gate) * up.
  void (*glu)(Activation activation, const void* gate, const void* up, void* out, std::int64_t n);
  void (*glu_backward)(Activation activation, const void* gate, const void* up, const void* dout,
                       void* dgate, void* dup, std::int64_t n);
  /// Rotates elements i and i + half by the angle with the given cosine and sine.
  void (*turn)(const void* in, const float* cosine, const float* sine, void* out,
               std::int64_t half);
  void (*activate)(Activation activation, const void* in, void* out, std::int64_t n);
  void (*activate_backward)(Activation activation, const void* pre, const void* dout, void* din,
                            std::int64_t n);
  void (*add)(const void* a, const void* b, void* out, std::int64_t n);
  /// total (f32) += in.
  void (*add_to)(float* total, const void* in, std::int64_t n);
  /// total[c] += the sum over rows of in[r * stride + c], in blocks of 64 rows.
  void (*add_column_sums)(const void* in, std::int64_t stride, std::int64_t rows,
                          std::int64_t columns, float* total);
  /// total[c] += factors[0] * in[c] + factors[1] * in[stride + c] ... for `count` rows, in order and
  /// each product fused into the sum.
  void (*add_products)(const float* factors, std::int64_t count, const void* in,
                       std::int64_t stride, std::int64_t n, float* total);
  /// Returns the sum over n of a * b.
  float (*dot)(const void* a, const void* b, std::int64_t n);
  /// Computes the largest logit of a row and the sum of e^(logit - largest). The row's n logits are
  /// stored in slices of `width`, `stride` apart.
  void (*logits_row)(const void* logits, std::int64_t stride, std::int64_t width, std::int64_t n,
                     float* largest, float* sum);
  /// logits = e^(logits - lse) * scale; the caller then corrects the target's element.
  void (*logits_gradient)(void* logits, std::int64_t n, float lse, float scale);
  /// out = in * key.scale where kept, else 0, for elements first ... of one sample, first % 64 ==
  /// 0.
  void (*dropout)(const DropoutKey& key, std::int64_t first, const void* in, void* out,
                  std::int64_t n);
  void (*from_f32)(const float* in, void* out, std::int64_t n);
  void (*to_f32)(const void* in, float* out, std::int64_t n);
  /// `weights` have this type, or are null.
  void (*update)(const UpdateRow& row, const UpdateRange& range);
};

/// Packing of product operands. `from` has the type in memory, `to` the type that oneDNN reads.
struct PackKernels {
  std::int64_t element_bytes;  // of `to`
  std::int64_t k_multiple;     // rows of a panel are padded to this with zeros
  /// Packs rows of B: (k, n <= kPanel) with `stride` -> one panel.
  void (*panel)(const void* from, std::int64_t stride, std::int64_t k, std::int64_t n, void* to);
  /// Packs B from its transpose: (n <= kPanel, k) with `stride` -> one panel.
  void (*panel_of_transposed)(const void* from, std::int64_t stride, std::int64_t k, std::int64_t n,
                              void* to);
  /// Packs A from its transpose: (k, m) with `stride` -> (m, k) with `to_stride`.
  void (*transpose)(const void* from, std::int64_t stride, std::int64_t m, std::int64_t k, void* to,
                    std::int64_t to_stride);
  /// Copies A: (m, k) with `stride` -> (m, k) with `to_stride`.
  void (*copy)(const void* from, std::int64_t stride, std::int64_t m, std::int64_t k, void* to,
               std::int64_t to_stride);
  /// p (rows, columns) = e^(logit - top), zeros where a row does not see.
  void (*softmax)(const AttentionTile& tile, void* p, const RunningSoftmax& rows);
  void (*softmax_backward)(const AttentionTile& tile, const SoftmaxGradient& a);
};

struct VectorKernels {
  ActKernels f32, bf16, f16;
  PackKernels f32_as_f32, bf16_as_f32, bf16_as_bf16, f16_as_f32;
  /// Updates a master in two halves, `weights` (bf16) and `low`.
  void (*update_split)(const UpdateRow& row, const UpdateRange& range);
  /// Returns the sum of squares of at most 1024 elements; adds non-finite elements to *non_finite.
  double (*square_leaf)(const float* in, std::int64_t n, std::int64_t* non_finite);
  /// Draws 64 normal numbers: elements 64 * block ... of the logical tensor.
  void (*normal_block)(std::uint64_t block, std::uint64_t seed, std::uint64_t key, float mean,
                       float deviation, float* out);
  /// out (+)= tile, for gradients. `tile` is (rows, kPanel).
  void (*add_tile)(const float* tile, std::int64_t rows, std::int64_t columns, float* out,
                   std::int64_t stride, bool accumulate);
  /// out = the sum over parts of in[part * n + i], in order; `accumulate` adds it to out.
  void (*sum_parts)(const float* in, std::int64_t parts, std::int64_t n, std::int64_t first,
                    std::int64_t count, float* out, bool accumulate);
  /// tile (rows, kPanel): row r *= factors[r].
  void (*scale_rows)(float* tile, std::int64_t rows, const float* factors);
  /// Ends a softmax: lse = log(total) + top, inverse = 1 / total; both 0 for rows that saw nothing.
  void (*end_softmax)(const RunningSoftmax& rows, std::int64_t count, float* lse, float* inverse);
  void (*add_f32)(const float* a, const float* b, float* out, std::int64_t n);
};

}  // namespace ds::cpu

namespace ds::avx512 {
const cpu::VectorKernels& vector_kernels();
}
namespace ds::avx2 {
const cpu::VectorKernels& vector_kernels();
}
