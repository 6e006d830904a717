// Seam 2 of 3: the numeric functions of training, in model terms. One backend per folder beside
// this file.
//
// Letters: B sequences of a micro-batch, T positions, rows = B*T, C width, H heads of queries, G
// heads of keys and of values (G divides H), D elements of a head, F width of the feed-forward
// layer, K/N inputs and outputs of a linear layer, V vocabulary. "act" is the activation type: f32,
// bf16 or f16; weights have the same type. Gradients of parameters are always f32 and accumulate:
// `accumulate = false` overwrites, true adds. Every result has the same bits for any number of
// threads: block structures depend on shapes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// out[r] = wte[tokens[r]] + wpe[r % T].
/// Shapes: tokens (rows) i32; wte (V, C), wpe (T, C), out (rows, C) act.
struct Embed {
  ConstTensor tokens, wte, wpe;
  Tensor out;
};

/// Adds dout to the rows of dwte that the tokens name (in row order, so the same bits always) and
/// to dwpe. Shapes: tokens (rows) i32; dout (rows, C) act; dwte (V, C), dwpe (T, C) f32.
struct EmbedBackward {
  ConstTensor tokens, dout;
  Tensor dwte, dwpe;
  bool accumulate_wte = false, accumulate_wpe = false;
};

/// sum = in + delta (when delta is empty: `sum` is unused and `in` itself is normalised);
/// out = (sum - mean) * rstd * weight + bias over the last axis.
/// Shapes: in, delta, sum, out (rows, C), weight, bias (C) act; mean, rstd (rows) f32.
/// Units:  statistics in f32; in 16 bits the sum is rounded once and the rounded value is
/// normalised.
struct LayerNorm {
  ConstTensor in, delta{}, weight, bias;
  Tensor sum{}, out, mean, rstd;
  float eps = 1e-5F;
};

/// din = LayerNorm's gradient + dresidual (when given). `in` is what was normalised.
/// Shapes: dout, in, dresidual, din (rows, C) act, weight (C) act; mean, rstd (rows) f32; dweight,
/// dbias (C) f32. Order:  din may be dresidual's memory.
struct LayerNormBackward {
  ConstTensor dout, in, weight, mean, rstd, dresidual{};
  Tensor din, dweight, dbias;
  bool accumulate = false;
};

/// sum = in + delta (when delta is empty: `sum` is unused and `in` itself is normalised);
/// out = sum * rstd * weight, rstd = 1 / sqrt(mean of squares + eps) over the last axis.
/// Shapes: in, delta, sum, out (rows, C), weight (C) act; rstd (rows) f32.
/// Units:  as LayerNorm. Source: Zhang and Sennrich, arXiv:1910.07467.
struct RmsNorm {
  ConstTensor in, delta{}, weight;
  Tensor sum{}, out, rstd;
  float eps = 1e-5F;
};

/// din = RmsNorm's gradient + dresidual (when given). `in` is what was normalised.
/// Shapes: dout, in, dresidual, din (rows, C) act, weight (C) act; rstd (rows) f32; dweight (C)
/// f32. Order:  din may be dresidual's memory.
struct RmsNormBackward {
  ConstTensor dout, in, weight, rstd, dresidual{};
  Tensor din, dweight;
  bool accumulate = false;
};

/// How queries, keys and values of all heads lie in memory; the backend's choice
/// (Kernels::heads_layout()), the same in all kernels that write or read "heads" memory.
/// by_head: q (B, H, T, D), then k (B, G, T, D), then v (B, G, T, D).
/// by_row:  (B*T, (H + 2G) * D): a row's queries, then keys, then values.
enum class HeadsLayout : std::uint8_t { by_head, by_row };

/// out = in * weight + bias (when given), then the epilogue.
/// Shapes: in (rows, K), weight (K, N), bias (N) act. Epilogue none: out (rows, N).
///         gelu: pre (rows, N) = the product with bias, out = gelu_tanh(pre).
///         heads: out holds N = (H + 2G) * D columns as the backend's HeadsLayout says; its shape
///         is (3, B, H, T, D) when G = H, else (1, B, H + 2G, T, D).
struct Linear {
  enum class Epilogue : std::uint8_t { none, gelu, heads };
  ConstTensor in, weight, bias{};
  Tensor out, pre{};
  Epilogue epilogue = Epilogue::none;
  std::int64_t kv_heads = 0;  // G, of heads; 0: G = H
};

/// din = dout * weight^T; with `pre`: times gelu_tanh'(pre), before the product is rounded.
/// Shapes: dout (rows, N), weight (K, N), din, pre (rows, K) act.
struct LinearBackwardInput {
  ConstTensor dout, weight, pre{};
  Tensor din;
};

/// dweight (+)= in^T * dout; dbias (+)= column sums of dout.
/// Shapes: in (rows, K), dout (rows, N) act; dweight (K, N), dbias (N) f32.
struct LinearBackwardWeight {
  ConstTensor in, dout;
  Tensor dweight, dbias{};
  bool accumulate = false;
};

/// out = gelu_tanh(in): the bits that Linear's gelu epilogue makes from `pre`. For recomputing.
/// Shapes: in, out (n) act.   Order: out may be in's memory.
struct Gelu {
  ConstTensor in;
  Tensor out;
};

/// din = dout * gelu_tanh'(pre).   Shapes: all (n) act. Order: din may be dout's memory.
struct GeluBackward {
  ConstTensor pre, dout;
  Tensor din;
};

/// out = silu(gate) * up, silu(x) = x / (1 + exp(-x)).
/// Shapes: in (rows, 2F): a row's gates, then its ups; out (rows, F) act. Source: Shazeer,
/// arXiv:2002.05202.
struct SwiGlu {
  ConstTensor in;
  Tensor out;
};

/// Shapes: in, din (rows, 2F), dout (rows, F) act.   Order: din may be in's memory.
struct SwiGluBackward {
  ConstTensor in, dout;
  Tensor din;
};

/// Rotary position embedding of queries and keys; values are copied. Element i < D/2 of a head
/// turns with element i + D/2 (Hugging Face's order) by the angle t * theta^(-2i/D), angles and
/// their sines in f32; inverse: by minus the angle, which is the gradient. Shapes: in, out as
/// Linear's heads (or, with `rows`, (B*T, (H + 2G) * D) in any layout) act. Order: out may be in's
/// memory. Source: Su et al., arXiv:2104.09864.
struct Rotary {
  ConstTensor in;
  Tensor out;
  std::int64_t seq_len = 0, heads = 0, kv_heads = 0;
  float theta = 10000.0F;
  bool inverse = false;
  bool rows = false;  // gradients (AttentionBackward's dqkv) lie in rows in every backend
};

/// T5's relative position bias: out[h][d] = table[bucket(d - (T - 1))][h] for d = key - query + T
/// - 1. Shapes: table (buckets, H) act; out (H, 2T - 1) f32. Source: Raffel et al.,
/// arXiv:1910.10683, as transformers' T5Attention._relative_position_bucket.
struct RelativeBias {
  ConstTensor table;
  Tensor out;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

/// dtable (+)= sums of dout over the distances of a bucket, in the order of distances.
/// Shapes: dout (H, 2T - 1) f32; dtable (buckets, H) f32.
struct RelativeBiasBackward {
  ConstTensor dout;
  Tensor dtable;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
  bool accumulate = false;
};

/// Which elements a dropout keeps: a pure function of (seed, key, step, sample, element) by Philox,
/// so that threads, micro-batches, world size and recomputing cannot change it, and no mask is ever
/// stored. Element e of a sample has word e / 16 % 4 of counter e / 64 * 16 + e % 16; it is dropped
/// when the word's upper 24 bits, as a fraction, are below `rate`, else scaled by 1 / (1 - rate).
/// Shapes: samples (B) i64: the sequences' numbers in the whole training.
struct DropoutDraw {
  ConstTensor samples{};
  float rate = 0;  // 0: nothing is dropped, and nothing scaled
  std::uint64_t seed = 0, key = 0, step = 0;
};

/// out = in with elements dropped and the rest scaled. Its own gradient: the same draw on dout.
/// Shapes: in, out (n) act, n / B elements a sample.   Order: out may be in's memory.
struct Dropout {
  ConstTensor in;
  DropoutDraw draw;
  Tensor out;
};

/// softmax(q k^T * scale + bias) v per query head h, with the keys and values of head h / (H/G).
/// causal: key positions above the query's do not count. lengths: in sequence b only key positions
/// below lengths[b] count (padding; a query without keys gives zeros). A dropout of the
/// probabilities if wanted: query q and key k of head h have element (h * T + q) * P + k of the
/// sample, P = T rounded up to 64. Shapes: qkv as Linear's heads, act; lengths (B) i32; bias (H, 2T
/// - 1) f32, by key
/// - query + T - 1; out (B*T, H*D) act; lse (B, H, T) f32 = log of the softmax denominator, before
/// the dropout.
struct Attention {
  ConstTensor qkv, lengths{}, bias{};
  Tensor out, lse;
  DropoutDraw dropout{};
  std::int64_t kv_heads = 0;  // G; 0: G = H
  bool causal = true;
  float scale = 0;  // 0: 1 / sqrt(D)
};

/// Shapes: as Attention; dout (B*T, H*D) act; dqkv (B*T, (H + 2G) * D) act, in rows; dbias (H, 2T -
/// 1) f32 is overwritten.
struct AttentionBackward {
  ConstTensor qkv, lengths{}, bias{}, out, lse, dout;
  Tensor dqkv, dbias{};
  DropoutDraw dropout{};
  std::int64_t kv_heads = 0;
  bool causal = true;
  float scale = 0;
};

/// Sum of cross-entropies of softmax(in * weight^T) against targets; targets < 0 do not count.
/// Works through `chunk_rows` rows at a time, so the full logits never exist.
/// Shapes: in (rows, C), weight (V, C) act; targets (rows) i32; loss (1) f64, nats, summed; count
/// (1) i64. Order:  columns from `valid_vocab` on are padding and get probability 0.
struct HeadLoss {
  ConstTensor in, weight, targets;
  Tensor loss, count;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
};

/// HeadLoss and, in the same pass, the gradient of the *sum* of losses times `loss_scale`.
/// Shapes: as HeadLoss; din (rows, C) act; dweight (V, C) f32.   Order: din may be in's memory.
struct HeadLossBackward {
  HeadLoss forward;
  Tensor din, dweight;
  float loss_scale = 1.0F;
  bool accumulate = false;
};

/// out = in * weight^T for a few rows, in f32.   Shapes: in (rows, C), weight (V, C) act; out
/// (rows, V) f32.
struct Logits {
  ConstTensor in, weight;
  Tensor out;
};

/// out = a + b.   Shapes: all (n), act or f32. Order: out may be a's or b's memory.
struct Add {
  ConstTensor a, b;
  Tensor out;
};

/// Sum of squares for the gradient norm: leaves of 1024 elements of one logical tensor, each summed
/// in f64 in a fixed order, then a fixed binary tree over the leaves. Shapes: in (n) f32; sum (1)
/// f64; non_finite (1) i64 = number of elements that are not finite.
struct SquaredSum {
  ConstTensor in;
  Tensor sum, non_finite;
};

/// The leaves of the gradient norm: for every 1024 elements the sum of squares, in f64 in a fixed
/// order, and how many elements are not finite. Nothing is summed across leaves, so any split at
/// leaves gives the same bits. Shapes: in (n) f32; sums (ceil(n / 1024)) f64; non_finite (ceil(n /
/// 1024)) i64.
struct LeafSquares {
  ConstTensor in;
  Tensor sums, non_finite;
};

/// One pass: unscale, clip, update in f32, cast. The arithmetic is that of engine/optim/adamw.h,
/// adam_l2.h, sgd.h and lion.h: the same bits for any cut of the parameters into ranges.
/// Shapes: grad, m, v (n) f32; v only of the two kinds of Adam. The f32 master is one of
///         master (n) f32, with weights (n) act made from it, or empty when they are the master
///         weights (n) bf16 and low (n) i16, no master: its bits are weights * 2^16 + low
/// Units:  g = grad * grad_scale; grad_scale = clip factor / (tokens * loss scale).
struct OptimizerUpdate {
  enum class Type : std::uint8_t { adamw, adam_l2, sgd, lion };
  ConstTensor grad;
  Tensor master{}, m, v{}, weights{}, low{};
  Type type = Type::adamw;
  bool nesterov = false;  // of sgd
  float grad_scale = 1, lr = 0, beta1 = 0.9F, beta2 = 0.999F, eps = 1e-8F, weight_decay = 0;
  float bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^t, computed on rank 0
  float momentum = 0;                                // of sgd
};

/// Normal numbers by Philox keyed by (seed, key, element): independent of threads and sharding.
/// Shapes: out (n) f32; element i of `out` is element `first_element + i` of the logical tensor.
struct FillNormal {
  Tensor out;
  float mean = 0, standard_deviation = 1;
  std::uint64_t seed = 0, key = 0;
  std::int64_t first_element = 0;
};

/// out = in, rounded to nearest (bf16: half away from zero; f16: half to even; denormals kept); one
/// of them is f32.   Shapes: both (n).
struct Cast {
  ConstTensor in;
  Tensor out;
};

/// Order:  every call runs on `stream`; on the CPU it is finished on return.
/// Errors: shapes and types that do not fit are bugs (DS_ASSERT).
class Kernels {
 public:
  virtual ~Kernels() = default;

  /// What the scratch is sized for: the largest of each in any program that will run.
  struct Extents {
    std::int64_t micro = 0, seq_len = 0, width = 0, heads = 0, ffn = 0, vocab = 0, chunk_rows = 0;
    std::int64_t kv_heads = 0;   // 0: as many as heads
    std::int64_t head_size = 0;  // 0: width / heads
    DType act = DType::f32;
  };
  [[nodiscard]] virtual std::size_t workspace_bytes(const Extents& extents) const = 0;
  /// Gives the scratch, which is part of the arena. Kernels allocate nothing in a step after the
  /// first.
  virtual void set_workspace(std::byte* data, std::size_t bytes) = 0;

  virtual void run(const Embed& a, Stream& stream) = 0;
  virtual void run(const EmbedBackward& a, Stream& stream) = 0;
  virtual void run(const LayerNorm& a, Stream& stream) = 0;
  virtual void run(const LayerNormBackward& a, Stream& stream) = 0;
  virtual void run(const RmsNorm& a, Stream& stream) = 0;
  virtual void run(const RmsNormBackward& a, Stream& stream) = 0;
  virtual void run(const Linear& a, Stream& stream) = 0;
  virtual void run(const LinearBackwardInput& a, Stream& stream) = 0;
  virtual void run(const LinearBackwardWeight& a, Stream& stream) = 0;
  virtual void run(const Gelu& a, Stream& stream) = 0;
  virtual void run(const GeluBackward& a, Stream& stream) = 0;
  virtual void run(const SwiGlu& a, Stream& stream) = 0;
  virtual void run(const SwiGluBackward& a, Stream& stream) = 0;
  virtual void run(const Rotary& a, Stream& stream) = 0;
  virtual void run(const RelativeBias& a, Stream& stream) = 0;
  virtual void run(const RelativeBiasBackward& a, Stream& stream) = 0;
  virtual void run(const Dropout& a, Stream& stream) = 0;
  virtual void run(const Attention& a, Stream& stream) = 0;
  virtual void run(const AttentionBackward& a, Stream& stream) = 0;
  virtual void run(const HeadLoss& a, Stream& stream) = 0;
  virtual void run(const HeadLossBackward& a, Stream& stream) = 0;
  virtual void run(const Logits& a, Stream& stream) = 0;
  virtual void run(const Add& a, Stream& stream) = 0;
  virtual void run(const SquaredSum& a, Stream& stream) = 0;
  virtual void run(const LeafSquares& a, Stream& stream) = 0;
  virtual void run(const OptimizerUpdate& a, Stream& stream) = 0;
  virtual void run(const FillNormal& a, Stream& stream) = 0;
  virtual void run(const Cast& a, Stream& stream) = 0;

  /// How "heads" memory lies; only kernels of this backend read it.
  [[nodiscard]] virtual HeadsLayout heads_layout() const = 0;

  /// The best rate of a plain matrix product of `act` on this device now, in FLOP/s (about 0.2 s of
  /// work).
  virtual double measure_matrix_peak(DType act) = 0;

  /// The library's names of the matrix products made so far, for tests: a slow fallback must be
  /// seen.
  [[nodiscard]] virtual std::vector<std::string> product_implementations() const = 0;
};

/// The CPU backend. `threads` = 0 takes the process's share (affinity, OMP_NUM_THREADS).
struct CpuOptions {
  int threads = 0;
  std::string isa = "auto";  // auto | avx512 | avx2
};
struct Backend {
  std::unique_ptr<Device> device;
  std::unique_ptr<Kernels> kernels;
  std::unique_ptr<Kernels> host_kernels{};  // for work on the host beside an accelerator
};
Backend make_cpu_backend(const CpuOptions& options);

}  // namespace ds
