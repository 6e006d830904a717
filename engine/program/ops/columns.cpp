// Sums into, and parts of, columns: what connects adapters with the layers beside them.
#include "engine/program/gradients.h"
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_add_columns(const Operands& o) {
  const auto& attrs = as<ops::AddColumns>(o.op());
  const Value& in = o.in(0);
  DS_ASSERT(same(in, o.out(0)) && o.has_in(1));
  const std::int64_t all = rows(o.in(1)), width = in.shape.elements() / all;
  DS_ASSERT(attrs.heads ? HeadsShape(in, attrs.kv_heads).row() == width : columns(in) == width);
  for (std::size_t i = 1; i < o.op().in.size(); ++i) {
    DS_ASSERT(o.has_in(i) == (i <= attrs.firsts.size()));
    if (!o.has_in(i)) continue;
    const Value& delta = o.in(i);
    DS_ASSERT(rows(delta) == all && delta.dtype == in.dtype);
    DS_ASSERT(attrs.firsts[i - 1] >= 0 && attrs.firsts[i - 1] + columns(delta) <= width);
  }
}

BoundOp bind_add_columns(const OpSite& at) {
  const auto& attrs = as<ops::AddColumns>(at.op);
  AddColumns args{.in = at.in(0),
                  .out = at.out(0),
                  .scale = attrs.scale,
                  .heads = attrs.heads,
                  .kv_heads = attrs.kv_heads};
  for (std::size_t i = 0; i < attrs.firsts.size(); ++i)
    args.parts.at(i) = {.delta = at.in(i + 1), .first = attrs.firsts[i]};
  return call(at, args);
}

// A gradient of heads is in rows, as attention's and rotary's reverses leave it.
void reverse_add_columns(Reverse& reverse, const Op& op) {
  const auto& attrs = as<ops::AddColumns>(op);
  const ValueId dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  reverse.contribute(op.in[0], dout);
  for (std::size_t i = 0; i < attrs.firsts.size(); ++i) {
    const ValueId delta = op.in[i + 1];
    if (!reverse.wants(delta)) continue;
    const std::string operand = fmt::format("delta{}", i);
    const ValueId taken = reverse.gradient_like(op, operand, delta);
    reverse.emit(op, "." + operand,
                 ops::TakeColumns{.first = attrs.firsts[i], .scale = attrs.scale}, {dout}, {taken});
    reverse.contribute(delta, taken);
  }
}

std::string print_add_columns(const Op& op) {
  const auto& attrs = as<ops::AddColumns>(op);
  std::string text = fmt::format(" at={} scale={}", fmt::join(attrs.firsts, ","), attrs.scale);
  if (attrs.heads) text += " heads";
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  return text;
}

void check_take_columns(const Operands& o) {
  const auto& attrs = as<ops::TakeColumns>(o.op());
  const Value &in = o.in(0), &out = o.out(0);
  DS_ASSERT(rows(in) == rows(out) && in.dtype == out.dtype && attrs.first >= 0);
  DS_ASSERT(attrs.first + columns(out) <= columns(in));
}

BoundOp bind_take_columns(const OpSite& at) {
  const auto& attrs = as<ops::TakeColumns>(at.op);
  return call(
      at,
      TakeColumns{.in = at.in(0), .out = at.out(0), .first = attrs.first, .scale = attrs.scale});
}

std::string print_take_columns(const Op& op) {
  const auto& attrs = as<ops::TakeColumns>(op);
  return fmt::format(" at={} scale={}", attrs.first, attrs.scale);
}

}  // namespace

constinit const OpRow ops::AddColumns::row{.name = "add_columns",
                                           .in = {"in", "delta", "second?", "third?"},
                                           .out = {"out"},
                                           .check = check_add_columns,
                                           .bind = bind_add_columns,
                                           .reverse = reverse_add_columns,
                                           .print = print_add_columns};

constinit const OpRow ops::TakeColumns::row{.name = "take_columns",
                                            .in = {"in"},
                                            .out = {"out"},
                                            .check = check_take_columns,
                                            .bind = bind_take_columns,
                                            .print = print_take_columns};

}  // namespace ds
