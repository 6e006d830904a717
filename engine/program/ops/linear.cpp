// Linear layers with their epilogues, GELU alone, and their reverses.
#include "engine/program/gradients.h"
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

using Epilogue = Linear::Epilogue;

bool has_gelu(const Op& op) {
  return is<ops::Linear>(op) && as<ops::Linear>(op).epilogue == Epilogue::gelu;
}

void check_linear(const Operands& o) {
  const Value &in = o.in(0), &weight = o.in(1), &out = o.out(0);
  const auto& attrs = as<ops::Linear>(o.op());
  const std::int64_t n = columns(weight);
  DS_ASSERT(columns(in) == rows(weight) && out.dtype == in.dtype);
  DS_ASSERT(!o.has_in(2) || is(o.in(2), in.dtype, {n}));
  DS_ASSERT(out.shape.elements() == rows(in) * n);
  const bool is_gelu = attrs.epilogue == Epilogue::gelu;
  DS_ASSERT(o.has_out(1) == is_gelu && (!is_gelu || same(o.out(1), out)));
  if (attrs.epilogue == Epilogue::heads) {
    DS_ASSERT(HeadsShape(out, attrs.kv_heads).row() == n);
  } else {
    DS_ASSERT(out.shape.axes() == 2);
  }
}

BoundOp bind_linear(const OpSite& at) {
  const auto& attrs = as<ops::Linear>(at.op);
  return call(at, Linear{.in = at.in(0),
                         .weight = at.in(1),
                         .bias = at.in(2),
                         .out = at.out(0),
                         .pre = at.out(1),
                         .epilogue = attrs.epilogue,
                         .kv_heads = attrs.kv_heads});
}

/// Returns the argument of the GELU whose result is `value` and is read only by this linear layer;
/// else kNoValue. This layer's reverse then computes the argument's gradient directly.
ValueId gelu_argument(const Reverse& reverse, ValueId value) {
  const Op* const maker = reverse.maker(value);
  if (maker == nullptr || !has_gelu(*maker) || maker->out[0] != value) return kNoValue;
  return reverse.readers(value) == 1 ? maker->out[1] : kNoValue;
}

/// Returns the gradient of the sum of a linear layer's product and bias.
ValueId gradient_before_epilogue(Reverse& reverse, const Op& op) {
  if (!has_gelu(op)) return reverse.gradient_of(op.out[0]);
  const ValueId pre = op.out[1], dout = reverse.gradient_of(op.out[0]);
  // The gradient was already created by the reverse op of a reader
  if (dout == kNoValue) return reverse.gradient_of(pre);
  const ValueId dpre = reverse.gradient_like(op, "pre", pre);
  reverse.emit(op, ".gelu", ops::GeluBackward{}, {pre, dout}, {dpre});
  return dpre;
}

// The weight's gradient comes first: then the saved input is dead when the input's gradient is
// made.
void reverse_linear(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], weight = op.in[1], bias = op.in[2];
  const ValueId dout = gradient_before_epilogue(reverse, op);
  if (dout == kNoValue) return;
  const auto dweight = reverse.parameter(weight);
  Reverse::ParameterGradient dbias;
  if (bias != kNoValue) dbias = reverse.parameter(bias);
  if (dweight.value != kNoValue || dbias.value != kNoValue) {
    reverse.emit(op, ".weight", ops::LinearBackwardWeight{}, {in, dout},
                 {dweight.value, dbias.value}, {dweight.adds, dbias.adds});
  }
  if (!reverse.wants(in)) return;
  const ValueId din = reverse.gradient_like(op, "in", in), pre = gelu_argument(reverse, in);
  reverse.emit(op, ".in", ops::LinearBackwardInput{}, {dout, weight, pre}, {din});
  reverse.contribute(pre == kNoValue ? in : pre, din);
}

double linear_flops(const Operands& o) {
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.in(1).shape.elements());
}

std::string print_linear(const Op& op) {
  const auto& attrs = as<ops::Linear>(op);
  std::string text;
  if (attrs.epilogue == Epilogue::gelu) text = " gelu";
  if (attrs.epilogue == Epilogue::heads) text = " heads";
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  return text;
}

// The epilogue's result is cheap where GELU alone has its bits.
std::uint32_t cheap_of_linear(const Op& op, bool fused) { return has_gelu(op) && !fused ? 1U : 0U; }

void shrink_to_gelu(Op& op, std::uint32_t kept, bool fused) {
  if (!has_gelu(op) || fused || (kept & 2U) == 0) return;
  op.attrs = ops::Gelu{};
  op.in = {op.out[1]};
  op.out.pop_back();
}

void check_linear_backward_input(const Operands& o) {
  const Value &dout = o.in(0), &weight = o.in(1);
  DS_ASSERT(columns(dout) == columns(weight));
  DS_ASSERT(is(o.out(0), dout.dtype, {rows(dout), rows(weight)}));
  DS_ASSERT(!o.has_in(2) || same(o.in(2), o.out(0)));
}

BoundOp bind_linear_backward_input(const OpSite& at) {
  return call(at, LinearBackwardInput{
                      .dout = at.in(0), .weight = at.in(1), .pre = at.in(2), .din = at.out(0)});
}

void check_linear_backward_weight(const Operands& o) {
  const Value &in = o.in(0), &dout = o.in(1);
  DS_ASSERT(rows(in) == rows(dout) && in.dtype == dout.dtype);
  DS_ASSERT(o.has_out(0) || o.has_out(1));
  DS_ASSERT(!o.has_out(0) || is(o.out(0), DType::f32, {columns(in), columns(dout)}));
  if (!o.has_out(1)) return;
  DS_ASSERT(is(o.out(1), DType::f32, {columns(dout)}));
  DS_ASSERT(!o.has_out(0) || o.op().adds_to(0) == o.op().adds_to(1),
            "the kernel has one flag for both");
}

BoundOp bind_linear_backward_weight(const OpSite& at) {
  return call(at, LinearBackwardWeight{.in = at.in(0),
                                       .dout = at.in(1),
                                       .dweight = at.out(0),
                                       .dbias = at.out(1),
                                       .accumulate = at.op.adds != 0});
}

double linear_backward_weight_flops(const Operands& o) {
  if (!o.has_out(0)) return 0;
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.out(0).shape.elements());
}

void check_gelu(const Operands& o) { DS_ASSERT(same(o.in(0), o.out(0))); }

BoundOp bind_gelu(const OpSite& at) { return call(at, Gelu{.in = at.in(0), .out = at.out(0)}); }

void reverse_gelu(Reverse& reverse, const Op& op) {
  const ValueId pre = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId dpre = reverse.gradient_like(op, "pre", pre);
  reverse.emit(op, "", ops::GeluBackward{}, {pre, dout}, {dpre});
  reverse.contribute(pre, dpre);
}

void check_gelu_backward(const Operands& o) {
  DS_ASSERT(same(o.in(0), o.in(1)) && same(o.in(0), o.out(0)));
}

BoundOp bind_gelu_backward(const OpSite& at) {
  return call(at, GeluBackward{.pre = at.in(0), .dout = at.in(1), .din = at.out(0)});
}

}  // namespace

constinit const OpRow ops::Linear::row{
    .name = "linear",
    .in = {"in", "weight", "bias?"},
    .out = {"out", "pre?"},
    .check = check_linear,
    .bind = bind_linear,
    .reverse = reverse_linear,
    .again = {.cheap = cheap_of_linear, .shrink = shrink_to_gelu},
    .flops = linear_flops,
    .uses_scratch = true,
    .print = print_linear};

constinit const OpRow ops::LinearBackwardInput::row{.name = "linear_backward_input",
                                                    .in = {"dout", "weight", "pre?"},
                                                    .out = {"din"},
                                                    .check = check_linear_backward_input,
                                                    .bind = bind_linear_backward_input,
                                                    .flops = linear_flops,
                                                    .uses_scratch = true};

constinit const OpRow ops::LinearBackwardWeight::row{.name = "linear_backward_weight",
                                                     .in = {"in", "dout"},
                                                     .out = {"dweight?+", "dbias?+"},
                                                     .check = check_linear_backward_weight,
                                                     .bind = bind_linear_backward_weight,
                                                     .flops = linear_backward_weight_flops,
                                                     .uses_scratch = true};

constinit const OpRow ops::Gelu::row{.name = "gelu",
                                     .in = {"pre"},
                                     .out = {"out"},
                                     .check = check_gelu,
                                     .bind = bind_gelu,
                                     .reverse = reverse_gelu,
                                     .again = {.cheap = all_results}};

constinit const OpRow ops::GeluBackward::row{.name = "gelu_backward",
                                             .in = {"pre", "dout"},
                                             .out = {"din"},
                                             .check = check_gelu_backward,
                                             .bind = bind_gelu_backward};

}  // namespace ds
