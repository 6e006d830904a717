// The head of a language model: logits, cross-entropy and, in the backward pass, their gradient.
#include "engine/program/gradients.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

template <class Kind>
void check_head(const Operands& o) {
  const Value &in = o.in(0), &weight = o.in(1);
  const auto& attrs = as<Kind>(o.op());
  DS_ASSERT(columns(in) == columns(weight) && is(o.in(2), DType::i32, {rows(in)}));
  DS_ASSERT(!o.has_in(3) || is(o.in(3), in.dtype, {rows(weight)}));
  DS_ASSERT(is(o.out(0), DType::f64, {1}) && is(o.out(1), DType::i64, {1}));
  DS_ASSERT(attrs.valid_vocab > 0 && attrs.valid_vocab <= rows(weight) && attrs.chunk_rows > 0);
}

template <class Kind>
HeadLoss head_loss_at(const OpSite& at) {
  const auto& attrs = as<Kind>(at.op);
  return {.in = at.in(0),
          .weight = at.in(1),
          .targets = at.in(2),
          .bias = at.in(3),
          .loss = at.out(0),
          .count = at.out(1),
          .valid_vocab = attrs.valid_vocab,
          .chunk_rows = attrs.chunk_rows,
          .scale = attrs.scale,
          .sparse = attrs.sparse};
}

BoundOp bind_head_loss(const OpSite& at) { return call(at, head_loss_at<ops::HeadLoss>(at)); }

void reverse_head_loss(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], weight = op.in[1], bias = operand(op.in, 3);
  const auto& attrs = as<ops::HeadLoss>(op);
  const ValueId din = reverse.wants(in) ? reverse.gradient_like(op, "in", in) : kNoValue;
  const auto dweight = reverse.parameter(weight);
  const ops::HeadLossBackward made{.valid_vocab = attrs.valid_vocab,
                                   .chunk_rows = attrs.chunk_rows,
                                   .scale = attrs.scale,
                                   .sparse = attrs.sparse};
  std::vector<ValueId> out{op.out[0], op.out[1], din, dweight.value};
  bool bias_adds = false;
  if (bias != kNoValue) {
    const auto dbias = reverse.parameter(bias);
    if (dbias.value != kNoValue) out.push_back(dbias.value);
    bias_adds = dbias.adds;
  }
  reverse.emit(op, "", made, op.in, std::move(out), {false, false, false, dweight.adds, bias_adds});
  reverse.contribute(in, din);
}

/// FLOPs of one product with the (V, C) weights.
double product_flops(const Operands& o) {
  return 2.0 * static_cast<double>(rows(o.in(0))) * static_cast<double>(o.in(1).shape.elements());
}
/// The logits, and the gradients of the input and the weights where they are needed.
double backward_flops(const Operands& o) {
  return (1 + (o.has_out(2) ? 1 : 0) + (o.has_out(3) ? 1 : 0)) * product_flops(o);
}

template <class Kind>
std::string print_head(const Op& op) {
  const auto& attrs = as<Kind>(op);
  std::string text =
      fmt::format(" valid_vocab={} chunk_rows={}", attrs.valid_vocab, attrs.chunk_rows);
  if (attrs.scale != 1) text += fmt::format(" scale={}", attrs.scale);
  if (attrs.sparse) text += " sparse";
  return text;
}

/// A sparse head's launches follow the number of rows that count.
template <class Kind>
bool is_sparse(const Op& op) {
  return as<Kind>(op).sparse;
}

void check_head_loss_backward(const Operands& o) {
  check_head<ops::HeadLossBackward>(o);
  DS_ASSERT(o.has_out(2) || o.has_out(3));
  DS_ASSERT(!o.has_out(2) || same(o.in(0), o.out(2)));
  DS_ASSERT(!o.has_out(3) || is(o.out(3), DType::f32, o.in(1).shape));
  if (!o.has_out(4)) return;
  DS_ASSERT(o.has_in(3) && is(o.out(4), DType::f32, o.in(3).shape));
  DS_ASSERT(!o.has_out(3) || o.op().adds_to(3) == o.op().adds_to(4),
            "the kernel has one flag for both");
}

BoundOp bind_head_loss_backward(const OpSite& at) {
  const HeadLossBackward args{.forward = head_loss_at<ops::HeadLossBackward>(at),
                              .din = at.out(2),
                              .dweight = at.out(3),
                              .dbias = at.out(4),
                              .accumulate = at.op.adds_to(3)};
  return call(at, args, [](HeadLossBackward& now, const StepContext& context) {
    now.loss_scale = context.loss_scale;
  });
}

}  // namespace

constinit const OpRow ops::HeadLoss::row{.name = "head_loss",
                                         .in = {"in", "weight", "targets", "bias??"},
                                         .out = {"loss", "count"},
                                         .check = check_head<ops::HeadLoss>,
                                         .bind = bind_head_loss,
                                         .reverse = reverse_head_loss,
                                         .is_loss = true,
                                         .flops = product_flops,
                                         .counts_targets = true,
                                         .uses_scratch = true,
                                         .varies = is_sparse<ops::HeadLoss>,
                                         .print = print_head<ops::HeadLoss>};

constinit const OpRow ops::HeadLossBackward::row{
    .name = "head_loss_backward",
    .in = {"in", "weight", "targets", "bias??"},
    .out = {"loss", "count", "din?", "dweight?+", "dbias??+"},
    .check = check_head_loss_backward,
    .bind = bind_head_loss_backward,
    .flops = backward_flops,
    .counts_targets = true,
    .uses_scratch = true,
    .varies = is_sparse<ops::HeadLossBackward>,
    .print = print_head<ops::HeadLossBackward>};

}  // namespace ds
