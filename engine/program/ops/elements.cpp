// Ops on each element: gated units, dropout, sums, and their reverses.
#include "engine/program/gradients.h"
#include "engine/program/ops/draw.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_glu(const Operands& o) {
  const Value &in = o.in(0), &out = o.out(0);
  DS_ASSERT(is(in, out.dtype, {rows(out), 2 * columns(out)}));
}

BoundOp bind_glu(const OpSite& at) {
  return call(at,
              Glu{.in = at.in(0), .out = at.out(0), .activation = as<ops::Glu>(at.op).activation});
}

void reverse_glu(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId din = reverse.gradient_like(op, "in", in);
  reverse.emit(op, "", ops::GluBackward{as<ops::Glu>(op).activation}, {in, dout}, {din});
  reverse.contribute(in, din);
}

void check_glu_backward(const Operands& o) {
  const Value &in = o.in(0), &dout = o.in(1);
  DS_ASSERT(is(in, dout.dtype, {rows(dout), 2 * columns(dout)}) && same(in, o.out(0)));
}

BoundOp bind_glu_backward(const OpSite& at) {
  return call(at, GluBackward{.in = at.in(0),
                              .dout = at.in(1),
                              .din = at.out(0),
                              .activation = as<ops::GluBackward>(at.op).activation});
}

/// SiLU, the first, is the default that is not printed.
template <class Kind>
std::string print_gate(const Op& op) {
  const Activation activation = as<Kind>(op).activation;
  if (activation == Kind{}.activation) return {};
  return fmt::format(" {}", name_of(activation));
}

void check_dropout(const Operands& o) {
  const DropoutAttrs& attrs = as<ops::Dropout>(o.op()).dropout;
  check_draw(o, attrs, 1);
  DS_ASSERT(same(o.in(0), o.out(0)) && attrs.rate > 0);
  DS_ASSERT(rows(o.in(0)) % rows(o.in(1)) == 0);
}

BoundOp bind_dropout(const OpSite& at) {
  const Dropout args{
      .in = at.in(0), .draw = draw_of(as<ops::Dropout>(at.op).dropout, at.in(1)), .out = at.out(0)};
  return call_with_draw(at, args, &Dropout::draw);
}

// The same random numbers drop the same elements, so no mask is kept.
void reverse_dropout(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], samples = op.in[1], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const ValueId din = reverse.gradient_like(op, "in", in);
  reverse.emit(op, "", as<ops::Dropout>(op), {dout, samples}, {din});
  reverse.contribute(in, din);
}

std::string print_dropout(const Op& op) { return text_of(as<ops::Dropout>(op).dropout); }

void check_add(const Operands& o) { DS_ASSERT(same(o.in(0), o.in(1)) && same(o.in(0), o.out(0))); }

BoundOp bind_add(const OpSite& at) {
  return call(at, Add{.a = at.in(0), .b = at.in(1), .out = at.out(0)});
}

void reverse_add(Reverse& reverse, const Op& op) {
  const ValueId dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  reverse.contribute(op.in[0], dout);
  reverse.contribute(op.in[1], dout);
}

}  // namespace

constinit const OpRow ops::Glu::row{.name = "glu",
                                    .in = {"in"},
                                    .out = {"out"},
                                    .check = check_glu,
                                    .bind = bind_glu,
                                    .reverse = reverse_glu,
                                    .again = {.cheap = all_results},
                                    .print = print_gate<ops::Glu>};

constinit const OpRow ops::GluBackward::row{.name = "glu_backward",
                                            .in = {"in", "dout"},
                                            .out = {"din"},
                                            .check = check_glu_backward,
                                            .bind = bind_glu_backward,
                                            .print = print_gate<ops::GluBackward>};

constinit const OpRow ops::Dropout::row{.name = "dropout",
                                        .in = {"in", "samples"},
                                        .out = {"out"},
                                        .check = check_dropout,
                                        .bind = bind_dropout,
                                        .reverse = reverse_dropout,
                                        .varies = always,
                                        .print = print_dropout};

constinit const OpRow ops::Add::row{.name = "add",
                                    .in = {"a", "b"},
                                    .out = {"out"},
                                    .check = check_add,
                                    .bind = bind_add,
                                    .reverse = reverse_add};

}  // namespace ds
