// Attention ops: dropout, rotary embedding, relative position bias, attention. Letters as in
// kernels.h.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace ds {

/// Decides which elements a dropout keeps: a pure function of (seed, key, step, sample, element) by
/// Philox. Threads, micro-batches, world size and recomputation cannot change it, and no mask is
/// stored. Element e of a sample has word e / 16 % 4 of counter e / 64 * 16 + e % 16. It is dropped
/// if the word's upper 24 bits, as a fraction, are below `rate`, else scaled by 1 / (1 - rate).
/// Shapes: samples (B) i64: the sequences' numbers in the whole training.
struct DropoutDraw {
  ConstTensor samples{};
  float rate = 0;  // 0: nothing is dropped or scaled
  std::uint64_t seed = 0, key = 0, step = 0;
};

/// out = in with elements dropped and the rest scaled. The gradient is the same draw on dout.
/// Shapes: in, out (n) act, n / B elements per sample.   Order: out may share in's memory.
struct Dropout {
  ConstTensor in;
  DropoutDraw draw;
  Tensor out;
};

/// Lower frequencies of rotary positions, for sequences longer than those of the first training.
struct RotaryScaling {
  enum class Kind : std::uint8_t { none, linear, llama3 };
  Kind kind = Kind::none;
  double factor = 1;            // divides the frequencies: all, or those of long waves
  double low = 1, high = 4;     // llama3: waves in the first training's length
  std::int64_t trained = 8192;  // llama3: that length
  friend bool operator==(const RotaryScaling&, const RotaryScaling&) = default;
};

/// Rotary position embedding of queries and keys; values are copied. Rotates elements i < D/2 and
/// i + D/2 of a head (Hugging Face's order) by the angle p * rotary_frequency() (theta^(-2i/D)
/// without scaling), with angles and their sines in f32. p: positions[r] of row r = b * T + t, or t
/// without positions. `inverse` rotates by minus the angle, which is the gradient. Shapes: in, out
/// as Linear's heads (or, with `rows`, (B*T, (H + 2G) * D) in any layout) act; positions (B*T) i32.
/// Order: out may share in's memory. Source: Su et al., arXiv:2104.09864.
struct Rotary {
  ConstTensor in, positions{};
  Tensor out;
  std::int64_t seq_len = 0, heads = 0, kv_heads = 0;
  float theta = 10000.0F;
  RotaryScaling scaling{};
  bool inverse = false;
  bool rows = false;  // in every backend, gradients (AttentionBackward's dqkv) are stored in rows
};

/// T5's relative position bias of T queries and S keys: out[h][d] = table[bucket(d - (T - 1) -
/// first)][h], where d = key - query + T - 1 and `first` is the position of the first query (0
/// without the tensor; for decoding). Shapes: table (buckets, H) act; first (1) i32; out (H, T + S
/// - 1) f32. Source: Raffel et al., arXiv:1910.10683, as in transformers'
/// T5Attention._relative_position_bucket.
struct RelativeBias {
  ConstTensor table, first{};
  Tensor out;
  std::int64_t queries = 0;  // T; 0: T = S
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

/// dtable (+)= sums of dout over the distances of each bucket, in the order of distances; the first
/// query has position 0. Shapes: dout (H, T + S - 1) f32; dtable (buckets, H) f32.
struct RelativeBiasBackward {
  ConstTensor dout;
  Tensor dtable;
  std::int64_t queries = 0;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
  bool accumulate = false;
};

/// Ranges of keys (Attention's `ranges`) from the documents of tokens: a query of document d sees
/// the run of keys of its sequence with the number d; [0, 0) if there is none. Without
/// key_documents, queries are their own keys. A negative number is padding: it sees nothing, and
/// nobody sees it. A number has one run in the keys of a sequence. Shapes: documents (B*T) i32,
/// key_documents (B*S) i32, ranges (B, T, 2) i32.
struct KeyRanges {
  ConstTensor documents, key_documents{};
  Tensor ranges;
};

/// out = softmax(q k^T * scale + bias) v per query head h, with the keys and values of head
/// h / (H/G). T queries per sequence; their keys are the T positions of qkv, or the S positions of
/// `kv` (cross-attention, a cache of keys).
///
/// Every mask is an interval of keys per query, and a query sees the keys in all of its intervals:
/// causal: keys up to the query's number; window: keys above query - window; ranges: keys [first,
/// last) of the sequence. A query without keys gives zeros, with lse 0. Blocks of keys that no
/// query of a block sees cost nothing.
///
/// Dropout of the probabilities is optional: query q and key k of head h have element (h * T + q) *
/// P + k of the sample, P = S rounded up to 64. Shapes: qkv as Linear's heads, act (the queries
/// alone, G = 0, with kv); kv as Linear's heads without queries, (1, B, 2G, S, D) act; ranges (B,
/// T, 2) i32; bias (H, T + S - 1) f32, by key - query + T - 1; out (B*T, H*D) act; lse (B, H, T)
/// f32 = log of the softmax denominator, before the dropout.
struct Attention {
  ConstTensor qkv, kv{}, ranges{}, bias{};
  Tensor out, lse;
  DropoutDraw dropout{};
  std::int64_t kv_heads = 0;  // G; 0: G = H
  bool causal = true;
  std::int64_t window = 0;  // 0: none
  float scale = 0;          // 0: 1 / sqrt(D)
};

/// Gradient of Attention. Shapes: as Attention; dout (B*T, H*D) act; dqkv (B*T, (H + 2G) * D) act,
/// in rows; with kv: dqkv (B*T, H*D), the queries' alone, and dkv (B*S, 2G * D) act, rows of keys,
/// then values; dbias (H, T + S - 1) f32. All are overwritten.
struct AttentionBackward {
  ConstTensor qkv, kv{}, ranges{}, bias{}, out, lse, dout;
  Tensor dqkv, dkv{}, dbias{};
  DropoutDraw dropout{};
  std::int64_t kv_heads = 0;
  bool causal = true;
  std::int64_t window = 0;
  float scale = 0;
};

}  // namespace ds
