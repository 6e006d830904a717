// The reverse ops of each op and their operands. The arithmetic is in engine/kernels.
#include "engine/program/gradients.h"

#include <array>

namespace ds {
namespace {

Op reverse_op(OpCode code, const Op& forward, std::string_view part, std::vector<ValueId> in,
              std::vector<ValueId> out, const OpAttrs& attrs = {}) {
  return {.code = code,
          .path = fmt::format("{}.grad{}", forward.path, part),
          .micro = forward.micro,
          .in = std::move(in),
          .out = std::move(out),
          .attrs = attrs};
}

ValueId gradient_like(Reverse& reverse, const Op& forward, std::string_view operand,
                      ValueId value) {
  const DType dtype = reverse.value(value).dtype;
  const Shape shape = reverse.value(value).shape;
  return reverse.activation(fmt::format("{}.grad.{}", forward.path, operand), dtype, shape);
}

void reverse_embed(Reverse& reverse, const Op& op) {
  const ValueId tokens = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const auto wte = reverse.parameter(op.in[1]);
  Reverse::ParameterGradient wpe{kNoValue, false};
  if (op.in[2] != kNoValue) wpe = reverse.parameter(op.in[2]);
  reverse.emit(reverse_op(OpCode::embed_backward, op, "", {tokens, dout}, {wte.value, wpe.value},
                          {.accumulate = wte.accumulate, .accumulate2 = wpe.accumulate}));
}

// The kernel also adds the gradient that the normalized tensor already has through the residual
// stream, which saves a pass over memory.
void reverse_layernorm(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], delta = op.in[1], weight = op.in[2], bias = op.in[3];
  const ValueId sum = op.out[0], mean = op.out[2], rstd = op.out[3];
  const ValueId normalised = delta == kNoValue ? in : sum;
  const ValueId dout = reverse.gradient_of(op.out[1]);
  DS_ASSERT(dout != kNoValue, "the output of a layer norm must be used");
  const ValueId din = gradient_like(reverse, op, "in", normalised);
  const auto dweight = reverse.parameter(weight), dbias = reverse.parameter(bias);
  DS_ASSERT(dweight.accumulate == dbias.accumulate);
  reverse.emit(reverse_op(OpCode::layernorm_backward, op, "",
                          {dout, normalised, weight, mean, rstd, reverse.gradient_of(normalised)},
                          {din, dweight.value, dbias.value},
                          {.accumulate = dweight.accumulate, .eps = op.attrs.eps}));
  reverse.replace(normalised, din);
  if (delta == kNoValue) return;
  reverse.contribute(in, din);
  reverse.contribute(delta, din);
}

void reverse_rmsnorm(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], delta = op.in[1], sum = op.out[0], rstd = op.out[2];
  const ValueId normalised = delta == kNoValue ? in : sum;
  const ValueId dout = reverse.gradient_of(op.out[1]);
  DS_ASSERT(dout != kNoValue, "the output of a norm must be used");
  const ValueId din = gradient_like(reverse, op, "in", normalised);
  const auto dweight = reverse.parameter(op.in[2]);
  reverse.emit(reverse_op(OpCode::rmsnorm_backward, op, "",
                          {dout, normalised, op.in[2], rstd, reverse.gradient_of(normalised)},
                          {din, dweight.value},
                          {.accumulate = dweight.accumulate, .eps = op.attrs.eps}));
  reverse.replace(normalised, din);
  if (delta == kNoValue) return;
  reverse.contribute(in, din);
  reverse.contribute(delta, din);
}

/// Returns the gradient of the sum of a linear layer's product and bias.
ValueId gradient_before_epilogue(Reverse& reverse, const Op& op) {
  if (op.attrs.epilogue != Linear::Epilogue::gelu) return reverse.gradient_of(op.out[0]);
  const ValueId pre = op.out[1], dout = reverse.gradient_of(op.out[0]);
  // The gradient was already created by the reverse op of a reader
  if (dout == kNoValue) return reverse.gradient_of(pre);
  const ValueId dpre = gradient_like(reverse, op, "pre", pre);
  reverse.emit(reverse_op(OpCode::gelu_backward, op, ".gelu", {pre, dout}, {dpre}));
  return dpre;
}

// The weight's gradient comes first: then the saved input is dead when the input's gradient is
// made.
void reverse_linear(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], weight = op.in[1], bias = op.in[2];
  const ValueId dout = gradient_before_epilogue(reverse, op);
  if (dout == kNoValue) return;
  const auto dweight = reverse.parameter(weight);
  Reverse::ParameterGradient dbias{kNoValue, dweight.accumulate};
  if (bias != kNoValue) dbias = reverse.parameter(bias);
  DS_ASSERT(dweight.accumulate == dbias.accumulate);
  reverse.emit(reverse_op(OpCode::linear_backward_weight, op, ".weight", {in, dout},
                          {dweight.value, dbias.value}, {.accumulate = dweight.accumulate}));
  const ValueId din = gradient_like(reverse, op, "in", in), pre = reverse.gelu_argument(in);
  reverse.emit(reverse_op(OpCode::linear_backward_input, op, ".in", {dout, weight, pre}, {din}));
  reverse.contribute(pre == kNoValue ? in : pre, din);
}

void reverse_swiglu(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId din = gradient_like(reverse, op, "in", in);
  reverse.emit(reverse_op(OpCode::swiglu_backward, op, "", {in, dout}, {din}));
  reverse.contribute(in, din);
}

// Rotates back, in rows: the layout of attention's gradient.
void reverse_rotary(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  OpAttrs attrs = op.attrs;
  attrs.heads.inverse = attrs.heads.rows = true;
  const ValueId din = gradient_like(reverse, op, "in", dout);
  reverse.emit(reverse_op(OpCode::rotary, op, "", {dout}, {din}, attrs));
  reverse.contribute(in, din);
}

// The same random numbers drop the same elements, so no mask is kept.
void reverse_dropout(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], samples = op.in[1];
  const ValueId dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId din = gradient_like(reverse, op, "in", in);
  reverse.emit(
      reverse_op(OpCode::dropout, op, "", {dout, samples}, {din}, {.dropout = op.attrs.dropout}));
  reverse.contribute(in, din);
}

// dqkv has the layout that the linear layer before it reads, (rows, (H + 2G) * D), not qkv's.
void reverse_attention(Reverse& reverse, const Op& op) {
  const ValueId qkv = op.in[0], out = op.out[0], lse = op.out[1];
  const ValueId dout = reverse.gradient_of(out);
  if (dout == kNoValue) return;
  const std::int64_t rows = reverse.value(out).shape[0];
  const Value& value = reverse.value(qkv);
  const ValueId dqkv =
      reverse.activation(op.path + ".grad.qkv", value.dtype, {rows, value.shape.elements() / rows});
  std::vector<ValueId> in{qkv, out, lse, dout};
  if (op.attrs.dropout.rate != 0) in.push_back(op.in[1]);
  reverse.emit(reverse_op(OpCode::attention_backward, op, "", std::move(in), {dqkv},
                          {.dropout = op.attrs.dropout, .heads = op.attrs.heads}));
  reverse.contribute(qkv, dqkv);
}

// Replaces the forward op: loss and gradient come from one pass.
void reverse_head_loss(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], weight = op.in[1];
  const ValueId din = gradient_like(reverse, op, "in", in);
  const auto dweight = reverse.parameter(weight);
  reverse.emit(reverse_op(OpCode::head_loss_backward, op, "", op.in,
                          {op.out[0], op.out[1], din, dweight.value},
                          {.accumulate = dweight.accumulate,
                           .valid_vocab = op.attrs.valid_vocab,
                           .chunk_rows = op.attrs.chunk_rows}));
  reverse.contribute(in, din);
}

void reverse_add(Reverse& reverse, const Op& op) {
  const ValueId dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  reverse.contribute(op.in[0], dout);
  reverse.contribute(op.in[1], dout);
}

struct Rule {
  OpCode forward;
  void (*emit)(Reverse&, const Op&);
};
constexpr std::array kRules{
    Rule{OpCode::embed, reverse_embed},         Rule{OpCode::layernorm, reverse_layernorm},
    Rule{OpCode::rmsnorm, reverse_rmsnorm},     Rule{OpCode::linear, reverse_linear},
    Rule{OpCode::swiglu, reverse_swiglu},       Rule{OpCode::dropout, reverse_dropout},
    Rule{OpCode::rotary, reverse_rotary},       Rule{OpCode::attention, reverse_attention},
    Rule{OpCode::head_loss, reverse_head_loss}, Rule{OpCode::add, reverse_add}};

}  // namespace

void emit_reverse(Reverse& reverse, const Op& op) {
  for (const Rule& rule : kRules) {
    if (rule.forward == op.code) return rule.emit(reverse, op);
  }
  DS_ASSERT(false, "every op of a model must have a reverse");
}

}  // namespace ds
