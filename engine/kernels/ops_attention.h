// Ops of attention: dropout, rotary embedding, relative positions, attention itself. Letters as
// in kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

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

}  // namespace ds
