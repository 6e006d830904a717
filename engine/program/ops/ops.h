// The ops of programs: one struct each, with its attributes. The rest of an op is its row
// (engine/program/ops/row.h), in the file of its family beside this one.
//
// Comments: inputs -> outputs, by position. "?": may be kNoValue; "+": may be added to instead of
// overwritten; "??": optional, and may be left out with all after it; "...": any number. Shapes:
// engine/kernels/ops_*.h.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/kernels/kernels.h"

namespace ds {

struct OpRow;

/// The ranks that a communication op runs on. Each has its own groups (Workplace::groups).
enum class CommRanks : std::uint8_t { data };  // all that share a batch (data parallel, ZeRO)

/// What a communication op moves: a bucket, which is a contiguous part of the flat memory of one
/// parameter group, with one piece per rank.
struct CommAttrs {
  std::vector<std::int64_t> cuts{};  // elements of the group; world size + 1 entries
  std::vector<bool> contributes{};   // exchange only
  std::int64_t at = 0;               // where this rank's piece begins in its slice
  CommRanks ranks = CommRanks::data;
};

/// Random numbers are keyed by the op's path, so second runs and backward ops carry the key.
struct DropoutAttrs {
  float rate = 0;
  std::uint64_t key = 0;  // XXH3 of the path in the forward program
};

/// The optimizer.
struct UpdateAttrs {
  OptimizerType type = OptimizerType::adamw;
  // "master" holds the lower halves (i16) of masters whose upper halves are the weights (bf16); the
  // weights are read too, as the last operand
  bool split_master = false;
  // Where weight decay stops and starts in turn, from the op's first element (decay.h)
  std::vector<std::int64_t> decay_cuts{};
  [[nodiscard]] bool has_two_moments() const { return facts_of(type).two_moments; }
};

namespace ops {

// embed.cpp
/// tokens, wte, wpe?, positions?? -> out
struct Embed {
  static const OpRow row;
};
/// tokens, dout, positions?? -> dwte?+, dwpe?+
struct EmbedBackward {
  static const OpRow row;
};

// norm.cpp
/// in, delta?, weight, bias -> sum?, out, mean, rstd
struct LayerNorm {
  static const OpRow row;
  float eps = 1e-5F;
};
/// dout, in, weight, mean, rstd, dresidual? -> din, dweight?+, dbias?+
struct LayerNormBackward {
  static const OpRow row;
};
/// in, delta?, weight -> sum?, out, rstd
struct RmsNorm {
  static const OpRow row;
  float eps = 1e-5F;
};
/// dout, in, weight, rstd, dresidual? -> din, dweight?+
struct RmsNormBackward {
  static const OpRow row;
};

/// qkv, q_weight, k_weight -> qkv
struct HeadNorm {
  static const OpRow row;
  std::int64_t heads = 0, kv_heads = 0;  // kv_heads = 0: as many as heads
  float eps = 1e-5F;
};
/// dqkv, qkv, q_weight, k_weight -> dqkv, dq_weight?+, dk_weight?+. Gradients are in rows.
struct HeadNormBackward {
  static const OpRow row;
  std::int64_t heads = 0, kv_heads = 0;
  float eps = 1e-5F;
};

// linear.cpp
/// in, weight, bias? -> out, pre?
struct Linear {
  static const OpRow row;
  ds::Linear::Epilogue epilogue = ds::Linear::Epilogue::none;
  Activation activation = Activation::gelu_tanh;  // of the epilogue "activation"
  std::int64_t kv_heads = 0;                      // of the epilogue "heads"; 0: as many as heads
};
/// dout, weight, pre? -> din
struct LinearBackwardInput {
  static const OpRow row;
  Activation activation = Activation::gelu_tanh;  // with pre
};
/// in, dout -> dweight?+, dbias?+
struct LinearBackwardWeight {
  static const OpRow row;
};
/// pre -> out
struct Activate {
  static const OpRow row;
  Activation activation = Activation::gelu_tanh;
};
/// pre, dout -> din
struct ActivateBackward {
  static const OpRow row;
  Activation activation = Activation::gelu_tanh;
};

// attention.cpp
/// qkv, positions?? -> qkv
struct Rotary {
  static const OpRow row;
  std::int64_t heads = 0, kv_heads = 0;  // kv_heads = 0: as many as heads
  float theta = 0;
  RotaryScaling scaling{};
  bool inverse = false, rows = false;
};
/// qkv, samples?, kv??, ranges??, bias?? -> out, lse
struct Attention {
  static const OpRow row;
  DropoutAttrs dropout{};
  std::int64_t kv_heads = 0;
  bool causal = true;
  std::int64_t window = 0;
  float scale = 0;
};
/// qkv, out, lse, dout, samples?, kv??, ranges??, bias?? -> dqkv, dkv??, dbias??
struct AttentionBackward {
  static const OpRow row;
  Attention forward{};  // its attributes
};

// attention_masks.cpp
/// documents, key_documents? -> ranges
struct KeyRanges {
  static const OpRow row;
};
/// table, first? -> bias
struct RelativeBias {
  static const OpRow row;
  std::int64_t queries = 0;  // 0: as many as keys
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};
/// dbias -> dtable+
struct RelativeBiasBackward {
  static const OpRow row;
  std::int64_t queries = 0;
  std::int64_t max_distance = 128;
  bool bidirectional = true;
};

// elements.cpp
/// in -> out
struct Glu {
  static const OpRow row;
  Activation activation = Activation::silu;
};
/// in, dout -> din
struct GluBackward {
  static const OpRow row;
  Activation activation = Activation::silu;
};
/// in, samples -> out
struct Dropout {
  static const OpRow row;
  DropoutAttrs dropout{};
};
/// a, b -> out (may be a)
struct Add {
  static const OpRow row;
};

// columns.cpp
/// in, delta, second?, third? -> out. Adds scale * delta to columns from firsts[i] on
struct AddColumns {
  static const OpRow row;
  std::vector<std::int64_t> firsts{};  // of each delta
  float scale = 1;
  bool heads = false;         // `in` has the layout of heads
  std::int64_t kv_heads = 0;  // with heads; 0: as many as heads
};
/// in -> out: scale * columns from `first` on
struct TakeColumns {
  static const OpRow row;
  std::int64_t first = 0;
  float scale = 1;
};

// loss.cpp
/// in, weight, targets, bias?? -> loss, count
struct HeadLoss {
  static const OpRow row;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
  float scale = 1;      // of in
  bool sparse = false;  // few rows count: ds::HeadLoss
};
/// in, weight, targets, bias?? -> loss, count, din?, dweight?+, dbias??+
struct HeadLossBackward {
  static const OpRow row;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
  float scale = 1;
  bool sparse = false;
};

// decode.cpp
/// qkv, slots, cache -> queries, cache (the same)
struct CacheKeys {
  static const OpRow row;
  std::int64_t kv_heads = 0;
};
/// in, weight, bias?? -> logits
struct Logits {
  static const OpRow row;
  float scale = 1;  // of in
};

// moves.cpp
/// root? -> staging. Rank r sends [cuts[p], cuts[p+1]) of its root to p when contributes[r].
/// staging gets this rank's piece from each contributor, in rank order, at `at` of the
/// contributor's row: shape (contributors, elements of the slice).
struct Exchange {
  static const OpRow row;
  CommAttrs comm{};
};
/// own slice? -> full. Every rank's piece of `full` goes to all. Without the input, `full` already
/// holds the own piece.
struct AllGather {
  static const OpRow row;
  CommAttrs comm{};
};
/// from -> to (same type and size, any tiers)
struct Copy {
  static const OpRow row;
};
/// none -> values..., set to zero bytes
struct Clear {
  static const OpRow row;
};

// step.cpp
/// values... -> none. Stands for another rank's op and uses the same values, so that all ranks
/// communicate alike.
struct Idle {
  static const OpRow row;
};
/// flat -> sums, non_finite (of each leaf)
struct LeafSquares {
  static const OpRow row;
};
/// (sums, non_finite)... of every group -> none. Derives the step's decision, the same on all
/// ranks.
struct Control {
  static const OpRow row;
};
/// gradient, master, m, v?, weights? -> master, m, v?, weights?
struct Update {
  static const OpRow row;
  UpdateAttrs update{};
};

}  // namespace ops

/// Which op it is, and its attributes.
using OpAttrs =
    std::variant<ops::Embed, ops::EmbedBackward, ops::LayerNorm, ops::LayerNormBackward,
                 ops::RmsNorm, ops::RmsNormBackward, ops::HeadNorm, ops::HeadNormBackward,
                 ops::Linear, ops::LinearBackwardInput, ops::LinearBackwardWeight, ops::Activate,
                 ops::ActivateBackward, ops::Rotary, ops::Attention, ops::AttentionBackward,
                 ops::KeyRanges, ops::RelativeBias, ops::RelativeBiasBackward, ops::Glu,
                 ops::GluBackward, ops::Dropout, ops::Add, ops::AddColumns, ops::TakeColumns,
                 ops::HeadLoss, ops::HeadLossBackward, ops::Exchange, ops::AllGather, ops::Copy,
                 ops::Clear, ops::Idle, ops::LeafSquares, ops::Control, ops::Update, ops::CacheKeys,
                 ops::Logits>;

}  // namespace ds
