// Layer norm and RMS norm, each fused with the residual sum before it, the RMS norm of single
// heads, and their reverses.
#include "engine/program/gradients.h"
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

/// Checks in, delta? -> sum?, out.
void check_residual(const Operands& o) {
  const Value &in = o.in(0), &out = o.out(1);
  DS_ASSERT(same(in, out) && o.has_in(1) == o.has_out(0));
  DS_ASSERT(!o.has_in(1) || (same(in, o.in(1)) && same(in, o.out(0))));
}

void check_layernorm(const Operands& o) {
  check_residual(o);
  const Value& in = o.in(0);
  DS_ASSERT(is(o.in(2), in.dtype, {columns(in)}) && is(o.in(3), in.dtype, {columns(in)}));
  DS_ASSERT(is(o.out(2), DType::f32, {rows(in)}) && is(o.out(3), DType::f32, {rows(in)}));
}

BoundOp bind_layernorm(const OpSite& at) {
  return call(at, LayerNorm{.in = at.in(0),
                            .delta = at.in(1),
                            .weight = at.in(2),
                            .bias = at.in(3),
                            .sum = at.out(0),
                            .out = at.out(1),
                            .mean = at.out(2),
                            .rstd = at.out(3),
                            .eps = as<ops::LayerNorm>(at.op).eps});
}

template <class Norm>
std::string print_eps(const Op& op) {
  const float eps = as<Norm>(op).eps;
  return eps == Norm{}.eps ? std::string() : fmt::format(" eps={}", eps);
}

/// Returns the tensor that the norm normalizes: the sum, if there is one.
ValueId normalized(const Op& op) { return op.in[1] == kNoValue ? op.in[0] : op.out[0]; }

/// Returns the gradient of the norm's result, which must be used.
ValueId gradient_of_result(const Reverse& reverse, const Op& op) {
  const ValueId dout = reverse.gradient_of(op.out[1]);
  DS_ASSERT(dout != kNoValue, "the result of a norm must be used");
  return dout;
}

// The kernel has added the gradient that the normalized tensor already had through the residual
// stream, which saves a pass over memory.
void pass_on(Reverse& reverse, const Op& op, ValueId din) {
  reverse.replace(normalized(op), din);
  if (op.in[1] == kNoValue) return;
  reverse.contribute(op.in[0], din);
  reverse.contribute(op.in[1], din);
}

void reverse_layernorm(Reverse& reverse, const Op& op) {
  const ValueId in = normalized(op), dout = gradient_of_result(reverse, op);
  const ValueId din = reverse.gradient_like(op, "in", in);
  const auto dweight = reverse.parameter(op.in[2]), dbias = reverse.parameter(op.in[3]);
  reverse.emit(op, "", ops::LayerNormBackward{},
               {dout, in, op.in[2], op.out[2], op.out[3], reverse.gradient_of(in)},
               {din, dweight.value, dbias.value}, {false, dweight.adds, dbias.adds});
  pass_on(reverse, op, din);
}

void check_layernorm_backward(const Operands& o) {
  const Value &dout = o.in(0), &din = o.out(0);
  DS_ASSERT(same(dout, o.in(1)) && same(dout, din) && (!o.has_in(5) || same(dout, o.in(5))));
  DS_ASSERT(is(o.in(2), din.dtype, {columns(din)}));
  DS_ASSERT(is(o.in(3), DType::f32, {rows(din)}) && is(o.in(4), DType::f32, {rows(din)}));
  for (const std::size_t i : {1, 2})
    DS_ASSERT(!o.has_out(i) || is(o.out(i), DType::f32, {columns(din)}));
  DS_ASSERT(!o.has_out(1) || !o.has_out(2) || o.op().adds_to(1) == o.op().adds_to(2),
            "the kernel has one flag for both");
}

BoundOp bind_layernorm_backward(const OpSite& at) {
  return call(at, LayerNormBackward{.dout = at.in(0),
                                    .in = at.in(1),
                                    .weight = at.in(2),
                                    .mean = at.in(3),
                                    .rstd = at.in(4),
                                    .dresidual = at.in(5),
                                    .din = at.out(0),
                                    .dweight = at.out(1),
                                    .dbias = at.out(2),
                                    .accumulate = at.op.adds != 0});
}

void check_rmsnorm(const Operands& o) {
  check_residual(o);
  const Value& in = o.in(0);
  DS_ASSERT(is(o.in(2), in.dtype, {columns(in)}) && is(o.out(2), DType::f32, {rows(in)}));
}

BoundOp bind_rmsnorm(const OpSite& at) {
  return call(at, RmsNorm{.in = at.in(0),
                          .delta = at.in(1),
                          .weight = at.in(2),
                          .sum = at.out(0),
                          .out = at.out(1),
                          .rstd = at.out(2),
                          .eps = as<ops::RmsNorm>(at.op).eps});
}

void reverse_rmsnorm(Reverse& reverse, const Op& op) {
  const ValueId in = normalized(op), dout = gradient_of_result(reverse, op);
  const ValueId din = reverse.gradient_like(op, "in", in);
  const auto dweight = reverse.parameter(op.in[2]);
  reverse.emit(op, "", ops::RmsNormBackward{},
               {dout, in, op.in[2], op.out[2], reverse.gradient_of(in)}, {din, dweight.value},
               {false, dweight.adds});
  pass_on(reverse, op, din);
}

void check_rmsnorm_backward(const Operands& o) {
  const Value &dout = o.in(0), &din = o.out(0);
  DS_ASSERT(same(dout, o.in(1)) && same(dout, din) && (!o.has_in(4) || same(dout, o.in(4))));
  DS_ASSERT(is(o.in(2), din.dtype, {columns(din)}) && is(o.in(3), DType::f32, {rows(din)}));
  DS_ASSERT(!o.has_out(1) || is(o.out(1), DType::f32, {columns(din)}));
}

BoundOp bind_rmsnorm_backward(const OpSite& at) {
  return call(at, RmsNormBackward{.dout = at.in(0),
                                  .in = at.in(1),
                                  .weight = at.in(2),
                                  .rstd = at.in(3),
                                  .dresidual = at.in(4),
                                  .din = at.out(0),
                                  .dweight = at.out(1),
                                  .accumulate = at.op.adds_to(1)});
}

/// Checks the tensors and attributes that HeadNorm and its reverse share.
template <class Norm>
void check_heads(const Operands& o, const Value& qkv, const Value& q, const Value& k) {
  const auto& attrs = as<Norm>(o.op());
  const HeadsShape s(qkv, attrs.kv_heads);
  DS_ASSERT(s.heads == attrs.heads);
  DS_ASSERT(is(q, qkv.dtype, {s.depth}) && is(k, qkv.dtype, {s.depth}));
}

void check_head_norm(const Operands& o) {
  DS_ASSERT(same(o.in(0), o.out(0)));
  check_heads<ops::HeadNorm>(o, o.in(0), o.in(1), o.in(2));
}

BoundOp bind_head_norm(const OpSite& at) {
  const auto& attrs = as<ops::HeadNorm>(at.op);
  return call(at, HeadNorm{.in = at.in(0),
                           .q_weight = at.in(1),
                           .k_weight = at.in(2),
                           .out = at.out(0),
                           .heads = attrs.heads,
                           .kv_heads = attrs.kv_heads,
                           .eps = attrs.eps});
}

void reverse_head_norm(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const auto& attrs = as<ops::HeadNorm>(op);
  const ValueId din = reverse.gradient_like(op, "in", dout);
  const auto dq = reverse.parameter(op.in[1]), dk = reverse.parameter(op.in[2]);
  reverse.emit(
      op, "",
      ops::HeadNormBackward{.heads = attrs.heads, .kv_heads = attrs.kv_heads, .eps = attrs.eps},
      {dout, in, op.in[1], op.in[2]}, {din, dq.value, dk.value}, {false, dq.adds, dk.adds});
  reverse.contribute(in, din);
}

template <class Norm>
std::string print_head_norm(const Op& op) {
  const auto& attrs = as<Norm>(op);
  std::string text = fmt::format(" q={}", attrs.heads);
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  return text + print_eps<Norm>(op);
}

void check_head_norm_backward(const Operands& o) {
  const Value &dout = o.in(0), &qkv = o.in(1);
  check_heads<ops::HeadNormBackward>(o, qkv, o.in(2), o.in(3));
  DS_ASSERT(same(dout, o.out(0)) && dout.dtype == qkv.dtype && dout.shape.axes() == 2);
  DS_ASSERT(dout.shape.elements() == qkv.shape.elements());
  for (const std::size_t i : {1, 2})
    DS_ASSERT(!o.has_out(i) || is(o.out(i), DType::f32, {qkv.shape[4]}));
  DS_ASSERT(!o.has_out(1) || !o.has_out(2) || o.op().adds_to(1) == o.op().adds_to(2),
            "the kernel has one flag for both");
}

BoundOp bind_head_norm_backward(const OpSite& at) {
  const auto& attrs = as<ops::HeadNormBackward>(at.op);
  return call(at, HeadNormBackward{.dout = at.in(0),
                                   .in = at.in(1),
                                   .q_weight = at.in(2),
                                   .k_weight = at.in(3),
                                   .din = at.out(0),
                                   .dq_weight = at.out(1),
                                   .dk_weight = at.out(2),
                                   .heads = attrs.heads,
                                   .kv_heads = attrs.kv_heads,
                                   .eps = attrs.eps,
                                   .accumulate = at.op.adds != 0});
}

/// Everything but the sum is cheap.
std::uint32_t all_but_the_sum(const Op&, bool) { return ~1U; }

constexpr Again kAgain{.sums_inputs = true, .cheap = all_but_the_sum};

}  // namespace

constinit const OpRow ops::LayerNorm::row{.name = "layernorm",
                                          .in = {"in", "delta?", "weight", "bias"},
                                          .out = {"sum?", "out", "mean", "rstd"},
                                          .check = check_layernorm,
                                          .bind = bind_layernorm,
                                          .reverse = reverse_layernorm,
                                          .again = kAgain,
                                          .print = print_eps<ops::LayerNorm>};

constinit const OpRow ops::LayerNormBackward::row{
    .name = "layernorm_backward",
    .in = {"dout", "in", "weight", "mean", "rstd", "dresidual?"},
    .out = {"din", "dweight?+", "dbias?+"},
    .check = check_layernorm_backward,
    .bind = bind_layernorm_backward,
    .uses_scratch = true};

constinit const OpRow ops::RmsNorm::row{.name = "rmsnorm",
                                        .in = {"in", "delta?", "weight"},
                                        .out = {"sum?", "out", "rstd"},
                                        .check = check_rmsnorm,
                                        .bind = bind_rmsnorm,
                                        .reverse = reverse_rmsnorm,
                                        .again = kAgain,
                                        .print = print_eps<ops::RmsNorm>};

constinit const OpRow ops::RmsNormBackward::row{
    .name = "rmsnorm_backward",
    .in = {"dout", "in", "weight", "rstd", "dresidual?"},
    .out = {"din", "dweight?+"},
    .check = check_rmsnorm_backward,
    .bind = bind_rmsnorm_backward,
    .uses_scratch = true};

constinit const OpRow ops::HeadNorm::row{.name = "head_norm",
                                         .in = {"qkv", "q_weight", "k_weight"},
                                         .out = {"qkv"},
                                         .check = check_head_norm,
                                         .bind = bind_head_norm,
                                         .reverse = reverse_head_norm,
                                         .again = {.cheap = all_results},
                                         .print = print_head_norm<ops::HeadNorm>};

constinit const OpRow ops::HeadNormBackward::row{.name = "head_norm_backward",
                                                 .in = {"dqkv", "qkv", "q_weight", "k_weight"},
                                                 .out = {"dqkv", "dq_weight?+", "dk_weight?+"},
                                                 .check = check_head_norm_backward,
                                                 .bind = bind_head_norm_backward,
                                                 .uses_scratch = true,
                                                 .print = print_head_norm<ops::HeadNormBackward>};

}  // namespace ds
