// Linear layers with their epilogues, activations alone, and their reverses.
#include "engine/program/gradients.h"
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

using Epilogue = Linear::Epilogue;

bool has_activation(const Op& op) {
  return is<ops::Linear>(op) && as<ops::Linear>(op).epilogue == Epilogue::activation;
}

void check_linear(const Operands& o) {
  const Value &in = o.in(0), &weight = o.in(1), &out = o.out(0);
  const auto& attrs = as<ops::Linear>(o.op());
  const std::int64_t n = columns(weight);
  DS_ASSERT(columns(in) == rows(weight) && out.dtype == in.dtype);
  DS_ASSERT(!o.has_in(2) || is(o.in(2), in.dtype, {n}));
  DS_ASSERT(out.shape.elements() == rows(in) * n);
  const bool activates = attrs.epilogue == Epilogue::activation;
  DS_ASSERT(o.has_out(1) == activates && (!activates || same(o.out(1), out)));
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
                         .activation = attrs.activation,
                         .kv_heads = attrs.kv_heads});
}

/// Returns the layer with the activation whose result is `value` and is read only by this linear
/// layer; else null. This layer's reverse then computes the argument's gradient directly.
const Op* activation_before(const Reverse& reverse, ValueId value) {
  const Op* const maker = reverse.maker(value);
  if (maker == nullptr || !has_activation(*maker) || maker->out[0] != value) return nullptr;
  return reverse.readers(value) == 1 ? maker : nullptr;
}

/// Returns the gradient of the sum of a linear layer's product and bias.
ValueId gradient_before_epilogue(Reverse& reverse, const Op& op) {
  if (!has_activation(op)) return reverse.gradient_of(op.out[0]);
  const ValueId pre = op.out[1], dout = reverse.gradient_of(op.out[0]);
  // The gradient was already created by the reverse op of a reader
  if (dout == kNoValue) return reverse.gradient_of(pre);
  const ValueId dpre = reverse.gradient_like(op, "pre", pre);
  const Activation activation = as<ops::Linear>(op).activation;
  reverse.emit(op, fmt::format(".{}", name_of(activation)), ops::ActivateBackward{activation},
               {pre, dout}, {dpre});
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
  reverse.emit(op, ".weight", ops::LinearBackwardWeight{}, {in, dout}, {dweight.value, dbias.value},
               {dweight.adds, dbias.adds});
  const Op* const before = activation_before(reverse, in);
  const ValueId din = reverse.gradient_like(op, "in", in);
  const ValueId pre = before == nullptr ? kNoValue : before->out[1];
  ops::LinearBackwardInput attrs;
  if (before != nullptr) attrs.activation = as<ops::Linear>(*before).activation;
  reverse.emit(op, ".in", attrs, {dout, weight, pre}, {din});
  reverse.contribute(pre == kNoValue ? in : pre, din);
}

double linear_flops(const Operands& o) {
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.in(1).shape.elements());
}

std::string print_linear(const Op& op) {
  const auto& attrs = as<ops::Linear>(op);
  std::string text;
  if (attrs.epilogue == Epilogue::activation) text = fmt::format(" {}", name_of(attrs.activation));
  if (attrs.epilogue == Epilogue::heads) text = " heads";
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  return text;
}

/// Only GELU with tanh is ever computed inside the product.
bool is_separate(const Op& op, bool fused) {
  return has_activation(op) && !(fused && as<ops::Linear>(op).activation == Activation::gelu_tanh);
}

// The epilogue's result is cheap where the activation alone has its bits.
std::uint32_t cheap_of_linear(const Op& op, bool fused) { return is_separate(op, fused) ? 1U : 0U; }

void shrink_to_activation(Op& op, std::uint32_t kept, bool fused) {
  if (!is_separate(op, fused) || (kept & 2U) == 0) return;
  op.attrs = ops::Activate{as<ops::Linear>(op).activation};
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
  return call(at,
              LinearBackwardInput{.dout = at.in(0),
                                  .weight = at.in(1),
                                  .pre = at.in(2),
                                  .din = at.out(0),
                                  .activation = as<ops::LinearBackwardInput>(at.op).activation});
}

void check_linear_backward_weight(const Operands& o) {
  const Value &in = o.in(0), &dout = o.in(1);
  DS_ASSERT(rows(in) == rows(dout) && in.dtype == dout.dtype);
  DS_ASSERT(is(o.out(0), DType::f32, {columns(in), columns(dout)}));
  if (!o.has_out(1)) return;
  DS_ASSERT(is(o.out(1), DType::f32, {columns(dout)}));
  DS_ASSERT(o.op().adds_to(0) == o.op().adds_to(1), "the kernel has one flag for both");
}

BoundOp bind_linear_backward_weight(const OpSite& at) {
  return call(at, LinearBackwardWeight{.in = at.in(0),
                                       .dout = at.in(1),
                                       .dweight = at.out(0),
                                       .dbias = at.out(1),
                                       .accumulate = at.op.adds_to(0)});
}

double linear_backward_weight_flops(const Operands& o) {
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.out(0).shape.elements());
}

/// GELU with tanh, the first, is the default that is not printed.
template <class Kind>
std::string print_activation(const Op& op) {
  const Activation activation = as<Kind>(op).activation;
  if (activation == Kind{}.activation) return {};
  return fmt::format(" {}", name_of(activation));
}

void check_activate(const Operands& o) { DS_ASSERT(same(o.in(0), o.out(0))); }

BoundOp bind_activate(const OpSite& at) {
  return call(
      at, Activate{
              .in = at.in(0), .out = at.out(0), .activation = as<ops::Activate>(at.op).activation});
}

void reverse_activate(Reverse& reverse, const Op& op) {
  const ValueId pre = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId dpre = reverse.gradient_like(op, "pre", pre);
  reverse.emit(op, "", ops::ActivateBackward{as<ops::Activate>(op).activation}, {pre, dout},
               {dpre});
  reverse.contribute(pre, dpre);
}

void check_activate_backward(const Operands& o) {
  DS_ASSERT(same(o.in(0), o.in(1)) && same(o.in(0), o.out(0)));
}

BoundOp bind_activate_backward(const OpSite& at) {
  return call(at, ActivateBackward{.pre = at.in(0),
                                   .dout = at.in(1),
                                   .din = at.out(0),
                                   .activation = as<ops::ActivateBackward>(at.op).activation});
}

}  // namespace

constinit const OpRow ops::Linear::row{
    .name = "linear",
    .in = {"in", "weight", "bias?"},
    .out = {"out", "pre?"},
    .check = check_linear,
    .bind = bind_linear,
    .reverse = reverse_linear,
    .again = {.cheap = cheap_of_linear, .shrink = shrink_to_activation},
    .flops = linear_flops,
    .uses_scratch = true,
    .print = print_linear};

constinit const OpRow ops::LinearBackwardInput::row{
    .name = "linear_backward_input",
    .in = {"dout", "weight", "pre?"},
    .out = {"din"},
    .check = check_linear_backward_input,
    .bind = bind_linear_backward_input,
    .flops = linear_flops,
    .uses_scratch = true,
    .print = print_activation<ops::LinearBackwardInput>};

constinit const OpRow ops::LinearBackwardWeight::row{.name = "linear_backward_weight",
                                                     .in = {"in", "dout"},
                                                     .out = {"dweight+", "dbias?+"},
                                                     .check = check_linear_backward_weight,
                                                     .bind = bind_linear_backward_weight,
                                                     .flops = linear_backward_weight_flops,
                                                     .uses_scratch = true};

constinit const OpRow ops::Activate::row{.name = "activate",
                                         .in = {"pre"},
                                         .out = {"out"},
                                         .check = check_activate,
                                         .bind = bind_activate,
                                         .reverse = reverse_activate,
                                         .print = print_activation<ops::Activate>};

constinit const OpRow ops::ActivateBackward::row{.name = "activate_backward",
                                                 .in = {"pre", "dout"},
                                                 .out = {"din"},
                                                 .check = check_activate_backward,
                                                 .bind = bind_activate_backward,
                                                 .print = print_activation<ops::ActivateBackward>};

}  // namespace ds
