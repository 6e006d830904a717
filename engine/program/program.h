// Program: one whole optimizer step as named values with known shapes and a list of ops over them.
//
// A model writes the forward pass of one micro-batch (engine/models); passes turn that into the
// step that this rank runs. The executor (engine/execute/executor.h) walks the final list and knows
// nothing about the passes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernels/kernels.h"
#include "engine/tensor/tensor.h"

namespace ds {

enum class ValueKind : std::uint8_t { parameter, gradient, activation, state, input };

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

/// A tensor of the program. Values of one micro-batch are named "block3.attn.qkv@2".
struct Value {
  std::string name;  // unique in the program
  ValueKind kind = ValueKind::activation;
  DType dtype = DType::f32;
  Shape shape{};   // logical, unpadded
  int micro = -1;  // micro-batch of this rank (index into Program::micro_batches); -1: one per step
  ValueId base = kNoValue;  // a view: `offset` elements into `base`, which is not a view itself
  std::int64_t offset = 0;
  bool persistent = false;  // keeps its bytes from step to step (weights, master, moments)
  Tier tier = Tier::device;
};

/// Queues of work that run side by side. Each runs its ops in the order of the list; dependencies
/// between streams are events (engine/program/edges.h). The last three exist beside an accelerator
/// (for_accelerator()): arithmetic by host code, and file I/O.
enum class StreamId : std::uint8_t { compute, gather, reduce, fetch, evict, host, read, write };
inline constexpr std::size_t kStreams = 8;
inline constexpr std::array<const char*, kStreams> kStreamNames{
    "compute", "gather", "reduce", "fetch", "evict", "host", "read", "write"};

/// Comments: inputs -> outputs, by position; then the attributes used. Operands with "?" may be
/// kNoValue. Shapes: engine/kernels/kernels.h.
enum class OpCode : std::uint8_t {
  embed,                   // tokens, wte, wpe? -> out
  embed_backward,          // tokens, dout -> dwte, dwpe?; accumulate, accumulate2 (wpe)
  layernorm,               // in, delta?, weight, bias -> sum?, out, mean, rstd; eps
  layernorm_backward,      // dout, in, weight, mean, rstd, dresidual? -> din, dweight, dbias;
                           // accumulate
  rmsnorm,                 // in, delta?, weight -> sum?, out, rstd; eps
  rmsnorm_backward,        // dout, in, weight, rstd, dresidual? -> din, dweight; accumulate
  linear,                  // in, weight, bias? -> out, pre?; epilogue, heads (of heads)
  linear_backward_input,   // dout, weight, pre? -> din
  linear_backward_weight,  // in, dout -> dweight, dbias?; accumulate
  gelu,                    // pre -> out
  gelu_backward,           // pre, dout -> din
  swiglu,                  // in -> out
  swiglu_backward,         // in, dout -> din
  dropout,                 // in, samples -> out; dropout
  rotary,                  // qkv -> qkv; heads
  attention,               // qkv, samples? -> out, lse; dropout, heads
  attention_backward,      // qkv, out, lse, dout, samples? -> dqkv; dropout, heads
  head_loss,               // in, weight, targets -> loss, count; valid_vocab, chunk_rows
  head_loss_backward,      // in, weight, targets -> loss, count, din, dweight; valid_vocab,
                           // chunk_rows, accumulate
  add,                     // a, b -> out (may be a)
  exchange,                // root? -> staging; comm (all-to-all of slices)
  all_gather,              // own slice? -> full (without the input `full` already holds the own
                           // slice); comm
  copy,                    // from -> to (same type and size, any tiers)
  idle,                    // any -> none; stands for another rank's op and uses the same values, so
                           // that all ranks communicate alike
  leaf_squares,            // flat -> sums, non_finite (of each leaf)
  control,                 // sums, non_finite of every group -> none; derives the step's decision,
                           // the same on all ranks
  update,                  // gradient, master, m, v?, weights? -> master, m, v?, weights?; group,
                           // update
  clear                    // none -> any number of values, set to zero bytes
};

/// What a communication op moves: flat memory of one parameter group, cut into one slice per rank.
/// exchange:   rank r sends [cuts[p], cuts[p+1]) of its root to p when contributes[r]. staging gets
///             this rank's slice from each contributor, in rank order: shape (contributors,
///             cuts[rank+1] - cuts[rank]).
/// all_gather: every rank's slice of `full` goes to all.
/// Of every slice only [from, from + length) moves: a bucket.
struct CommAttrs {
  std::vector<std::int64_t>
      cuts{};  // elements; world size + 1 entries, multiples of 1024 but for the last
  std::vector<bool> contributes{};  // exchange only
  std::int64_t from = 0, length = INT64_MAX;
};

/// Random numbers are keyed by the op's path, so second runs and backward ops carry the key.
struct DropoutAttrs {
  float rate = 0;
  std::uint64_t key = 0;  // XXH3 of the path in the forward program
};

/// Numbers of heads, and how rotary embeddings rotate them. kv_heads = 0: as many as heads.
struct HeadsAttrs {
  std::int64_t heads = 0, kv_heads = 0;
  float theta = 0;  // of rotary
  bool inverse = false, rows = false;
};

/// The optimizer; sgd and lion have no v.
struct UpdateAttrs {
  OptimizerUpdate::Type type = OptimizerUpdate::Type::adamw;
  bool nesterov = false;  // of sgd
  // "master" holds the lower halves (i16) of masters whose upper halves are the weights (bf16); the
  // weights are read too, as the last operand
  bool split_master = false;
  [[nodiscard]] bool has_two_moments() const {
    return type == OptimizerUpdate::Type::adamw || type == OptimizerUpdate::Type::adam_l2;
  }
};

struct OpAttrs {
  bool accumulate = false, accumulate2 = false;
  Linear::Epilogue epilogue = Linear::Epilogue::none;
  float eps = 1e-5F;
  std::int64_t valid_vocab = 0, chunk_rows = 0;
  int group = -1;  // parameter group of ops that belong to one
  CommAttrs comm{};
  DropoutAttrs dropout{};
  HeadsAttrs heads{};
  UpdateAttrs update{};
};

struct Op {
  OpCode code = OpCode::add;
  // Stable through passes: "block3.attn.qkv", backward "block3.attn.qkv.grad", "reduce.block3"
  std::string path;
  int micro = -1;  // like Value::micro
  std::vector<ValueId> in{}, out{};
  OpAttrs attrs{};
  StreamId stream = StreamId::compute;
};

/// Initial value of a parameter. Random numbers are keyed by the tensor's name.
struct ParamInit {
  enum class Kind : std::uint8_t { zeros, ones, normal } kind = Kind::zeros;
  float standard_deviation = 0;
};

/// One logical parameter tensor inside its group's flat memory.
struct ParamTensor {
  std::string name;  // Hugging Face's name without "transformer.": "h.3.attn.c_attn.weight"
  Shape shape{};
  std::int64_t offset = 0;  // elements into the group; a multiple of kLeaf
  ParamInit init{};
  ValueId weights = kNoValue;   // view into the group's weights (act type)
  ValueId gradient = kNoValue;  // view into the group's gradient (f32), once differentiated
};

/// Optimizer state of elements [first, first + elements) of a group: f32, persistent. The master
/// may be the weights' own memory, or only its lower halves (i16; UpdateAttrs).
struct StateTile {
  std::int64_t first = 0, elements = 0;
  ValueId master = kNoValue, moment1 = kNoValue, moment2 = kNoValue;
};

/// Parameters that are gathered, reduced and updated together: one group per block, one for
/// embeddings, one for the end. Whole flat values have `elements` elements; gaps between tensors
/// stay zero.
struct ParamGroup {
  std::string name;
  std::vector<ParamTensor> tensors{};
  std::int64_t elements = 0;   // a multiple of kLeaf
  ValueId weights = kNoValue;  // act type, whole; kNoValue where weights are gathered from slices
  ValueId slice = kNoValue;    // act type: this rank's slice of weights that are not kept whole
  // This rank's parts, once sharded:
  ValueId gradient = kNoValue;  // f32, the step's reduced sum: whole, or this rank's slice
  std::int64_t state_first = 0, state_elements = 0;  // elements that it updates
  std::vector<StateTile> states{};                   // of exactly those elements, in order
};

/// Tensors are aligned to it, shards are cut at multiples of it, the gradient norm sums by it.
inline constexpr std::int64_t kLeaf = 1024;

/// A micro-batch that this rank runs in every step, in this order.
struct MicroBatch {
  int virtual_rank = 0;
  int micro_step = 0;
  ValueId tokens = kNoValue, targets = kNoValue;  // inputs, (rows) i32
  ValueId loss = kNoValue, count = kNoValue;      // (1) f64, (1) i64
  ValueId samples = kNoValue;  // input, (B) i64: sequence numbers; for dropout only
};

struct Program {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ParamGroup> groups;
  std::vector<MicroBatch> micro_batches;
  ValueId final_activation =
      kNoValue;              // forward programs: output of the last norm (rows, C), for sampling
  Kernels::Extents extents;  // the sizes that the kernels' scratch is made for

  [[nodiscard]] const Value& value(ValueId id) const {
    return values[static_cast<std::size_t>(id)];
  }
  ValueId add_value(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size()) - 1;
  }
};

}  // namespace ds
