// The end of a step: leaves of the norm, the decision, the optimizer; and ops that stand for
// others.
#include <fmt/ranges.h>

#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_idle(const Operands&) {}

BoundOp bind_idle(const OpSite&) {
  return [](StepContext&) {};
}

void check_leaf_squares(const Operands& o) {
  const std::int64_t leaves = (o.in(0).shape.elements() + kLeaf - 1) / kLeaf;
  DS_ASSERT(o.in(0).dtype == DType::f32);
  DS_ASSERT(is(o.out(0), DType::f64, {leaves}) && is(o.out(1), DType::i64, {leaves}));
}

BoundOp bind_leaf_squares(const OpSite& at) {
  return call(at, LeafSquares{.in = at.in(0), .sums = at.out(0), .non_finite = at.out(1)});
}

void check_control(const Operands& o) {
  const std::size_t parts = o.op().in.size();
  DS_ASSERT(parts % 2 == 0);
  for (std::size_t i = 0; i < parts; i += 2)
    DS_ASSERT(o.in(i).dtype == DType::f64 && o.in(i + 1).dtype == DType::i64);
}

BoundOp bind_control(const OpSite& at) {
  return [finish = at.finish_device](StepContext& context) {
    finish();
    context.on_control(context);
  };
}

void check_update(const Operands& o) {
  const UpdateAttrs& attrs = as<ops::Update>(o.op()).update;
  const bool is_split = attrs.split_master, has_v = attrs.has_two_moments();
  DS_ASSERT(o.has_in(4) == is_split && o.has_in(3) == has_v && o.has_out(2) == has_v);
  const DType master = is_split ? DType::i16 : DType::f32;
  DS_ASSERT(is(o.in(1), master, o.in(0).shape) && same(o.in(1), o.out(0)));
  DS_ASSERT(!is_split || (is(o.in(4), DType::bf16, o.in(0).shape) && same(o.in(4), o.out(3))));
  for (std::size_t i = 2; i < (has_v ? 4U : 3U); ++i)
    DS_ASSERT(is(o.in(i), DType::f32, o.in(0).shape) && same(o.in(i), o.out(i - 1)));
  DS_ASSERT(!o.has_out(3) || o.out(3).shape == o.in(0).shape);
}

// A skipped step changes nothing. Weights on their way to their tier are made from the unchanged
// master.
void keep_weights(const OptimizerUpdate& update, Device& device, Kernels& kernels, Stream& stream) {
  if (!update.weights || !update.master) return;
  if (update.weights.dtype != DType::f32) {
    kernels.run(Cast{.in = update.master, .out = update.weights}, stream);
  } else {
    device.copy(update.weights.data, update.master.data,
                static_cast<std::size_t>(update.master.bytes()), stream);
  }
}

BoundOp bind_update(const OpSite& at) {
  const UpdateAttrs& attrs = as<ops::Update>(at.op).update;
  const bool is_split = attrs.split_master;
  const OptimizerUpdate args{.grad = at.in(0),
                             .master = is_split ? Tensor{} : at.out(0),
                             .m = at.out(1),
                             .v = at.out(2),
                             .weights = at.out(3),
                             .low = is_split ? at.out(0) : Tensor{},
                             .type = attrs.type};
  return [args, cuts = attrs.decay_cuts, &device = at.device, &kernels = at.kernels,
          &stream = at.stream](StepContext& context) {
    OptimizerUpdate now = args;
    const UpdateNumbers& u = context.update;
    if (u.skip) return keep_weights(now, device, kernels, stream);
    now.numbers = u.numbers;
    now.decay_cuts = cuts;
    kernels.run(now, stream);
  };
}

std::string print_update(const Op& op) {
  const UpdateAttrs& attrs = as<ops::Update>(op).update;
  std::string text;
  if (attrs.type != OptimizerType::adamw) text = fmt::format(" {}", facts_of(attrs.type).name);
  if (attrs.split_master) text += " split";
  if (!attrs.decay_cuts.empty()) text += fmt::format(" decay={}", fmt::join(attrs.decay_cuts, ","));
  return text;
}

}  // namespace

constinit const OpRow ops::Idle::row{
    .name = "idle", .in = {"values..."}, .out = {}, .check = check_idle, .bind = bind_idle};

constinit const OpRow ops::LeafSquares::row{.name = "leaf_squares",
                                            .in = {"flat"},
                                            .out = {"sums", "non_finite"},
                                            .check = check_leaf_squares,
                                            .bind = bind_leaf_squares};

constinit const OpRow ops::Control::row{.name = "control",
                                        .in = {"parts..."},
                                        .out = {},
                                        .check = check_control,
                                        .bind = bind_control,
                                        .decision = Decision::writes,
                                        .varies = always};

constinit const OpRow ops::Update::row{.name = "update",
                                       .in = {"gradient", "master", "m", "v?", "weights?"},
                                       .out = {"master", "m", "v?", "weights?"},
                                       .check = check_update,
                                       .bind = bind_update,
                                       .decision = Decision::reads,
                                       .varies = always,
                                       .print = print_update};

}  // namespace ds
