// Program: one whole optimizer step as named values with known shapes and a list of ops over them.
//
// A model writes the forward pass of one micro-batch (engine/models); passes turn that into the
// step that this rank runs. The executor (engine/execute/executor.h) walks the final list and knows
// nothing about the passes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/program/ops/ops.h"
#include "engine/tensor/batch_input.h"

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
  // Keeps its bytes until a program without a value of this name runs: the cache of decoding, which
  // lies in memory that a training step uses otherwise.
  bool kept = false;
  Tier tier = Tier::device;
};

/// Queues of work that run side by side. Each runs its ops in the order of the list; dependencies
/// between streams are events (engine/program/edges.h). The last three exist beside an accelerator
/// (for_accelerator()): arithmetic by host code, and file I/O.
enum class StreamId : std::uint8_t { compute, gather, reduce, fetch, evict, host, read, write };
inline constexpr std::size_t kStreams = 8;
inline constexpr std::array<const char*, kStreams> kStreamNames{
    "compute", "gather", "reduce", "fetch", "evict", "host", "read", "write"};

/// When an op runs. differentiate() begins the backward pass; what shard() adds belongs to the
/// step.
enum class Phase : std::uint8_t { forward, backward, step };

struct Op {
  OpAttrs attrs;
  // Stable through passes: "block3.attn.qkv", backward "block3.attn.qkv.grad", "reduce.block3"
  std::string path;
  int micro = -1;  // like Value::micro
  std::vector<ValueId> in{}, out{};
  std::uint32_t adds = 0;  // bit i: adds to out[i], which it otherwise overwrites
  int group = -1;          // parameter group of ops that belong to one
  int block = -1;          // the model's block: recomputation works block by block; -1: outside
  Phase phase = Phase::step;
  StreamId stream = StreamId::compute;

  [[nodiscard]] bool adds_to(std::size_t output) const { return (adds >> output & 1U) != 0; }
};

template <class Kind>
bool is(const Op& op) {
  return std::holds_alternative<Kind>(op.attrs);
}
/// Returns the op's attributes; it must be a `Kind`.
template <class Kind>
const Kind& as(const Op& op) {
  return std::get<Kind>(op.attrs);
}

/// Initial value of a parameter. Random numbers are keyed by the tensor's name.
struct ParamInit {
  enum class Kind : std::uint8_t { zeros, ones, normal, uniform } kind = Kind::zeros;
  float standard_deviation = 0;    // normal
  float bound = 0;                 // uniform in [-bound, bound)
  std::int64_t first_columns = 0;  // columns at the left whose deviation is `factor` times as large
  float factor = 1;
};

/// One logical parameter tensor inside its group's flat memory.
struct ParamTensor {
  std::string name;  // Hugging Face's name without "transformer.": "h.3.attn.c_attn.weight"
  Shape shape{};
  std::int64_t offset = 0;  // elements into the group; a multiple of kLeaf
  ParamInit init{};
  bool is_norm = false;         // scale or bias of a norm
  bool decays = true;           // has weight decay
  ValueId weights = kNoValue;   // view into the group's weights (act type)
  ValueId gradient = kNoValue;  // view into the group's gradient (f32), once differentiated
};

/// Optimizer state of elements [first, first + elements) of a group: f32, persistent. The master
/// may be the weights' own memory, or only its lower halves (i16; UpdateAttrs).
struct StateTile {
  std::int64_t first = 0, elements = 0;
  ValueId master = kNoValue, moment1 = kNoValue, moment2 = kNoValue;
};

/// Elements [first, first + elements) of a group that a rank owns. `at`: where they begin in the
/// rank's slice, which consists of such parts.
struct OwnedPart {
  std::int64_t first = 0, elements = 0, at = 0;
};

/// Parameters that are gathered, reduced and updated together: one group per block, one for
/// embeddings, one for the end; the frozen tensors of each are a group of their own (freeze.h).
/// Whole flat values have `elements` elements; gaps between tensors
/// stay zero.
struct ParamGroup {
  std::string name;
  // Whether it trains. A frozen group has no gradient, update or moments; its `states` only say
  // which elements of the weights this rank saves: their masters are the weights themselves.
  bool trains = true;
  std::vector<ParamTensor> tensors{};
  std::int64_t elements = 0;   // a multiple of kLeaf
  ValueId weights = kNoValue;  // act type, whole; kNoValue where weights are gathered from slices
  ValueId slice = kNoValue;    // act type: this rank's slice of weights that are not kept whole
  // This rank's parts, once sharded:
  ValueId gradient = kNoValue;      // f32, the step's reduced sum: whole, or this rank's slice
  std::vector<OwnedPart> own{};     // elements that it updates, in order
  std::vector<StateTile> states{};  // of exactly those elements, in order
};

/// Tensors are aligned to it, shards are cut at multiples of it, the gradient norm sums by it.
inline constexpr std::int64_t kLeaf = 1024;

/// A value that the caller fills in before the program runs.
struct Input {
  std::string name;  // what it holds, such as input::kTokens
  ValueId value = kNoValue;
  std::int64_t first = 0;  // positions: that of a document's first token
  std::int64_t limit = 0;  // numbers must be less; the model's tables have no row for others
};

/// A micro-batch that this rank runs in every step, in this order.
struct MicroBatch {
  int virtual_rank = 0;
  int micro_step = 0;
  ValueId loss = kNoValue, count = kNoValue;  // (1) f64, (1) i64
  std::vector<Input> inputs{};
};

struct Program {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ParamGroup> groups;
  std::vector<MicroBatch> micro_batches;
  ValueId final_activation =
      kNoValue;  // forward programs: output of the last norm (rows, C), for sampling
  ValueId logits =
      kNoValue;              // programs that decode: (B, V) f32, of the last token of each sequence
  Kernels::Extents extents;  // the sizes that the kernels' scratch is made for

  [[nodiscard]] const Value& value(ValueId id) const {
    return values[static_cast<std::size_t>(id)];
  }
  /// Returns a micro-batch's input with this name; kNoValue if there is none.
  [[nodiscard]] ValueId input(std::string_view name, std::size_t micro = 0) const {
    for (const Input& input : micro_batches.at(micro).inputs)
      if (input.name == name) return input.value;
    return kNoValue;
  }
  /// Returns whether a value has bytes from an earlier run.
  [[nodiscard]] bool lasts(ValueId id) const { return value(id).persistent || value(id).kept; }
  ValueId add_value(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size()) - 1;
  }
};

}  // namespace ds
