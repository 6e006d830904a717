// Token and position embedding, and its reverse.
#include "engine/program/gradients.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_embed(const Operands& o) {
  const Value &tokens = o.in(0), &wte = o.in(1), &out = o.out(0);
  DS_ASSERT(is(tokens, DType::i32, {rows(out)}) && columns(wte) == columns(out));
  DS_ASSERT(!o.has_in(3) || (o.has_in(2) && is(o.in(3), DType::i32, {rows(out)})));
  if (!o.has_in(2)) return;
  DS_ASSERT(o.has_in(3) || rows(out) % rows(o.in(2)) == 0);
  DS_ASSERT(columns(o.in(2)) == columns(out));
}

BoundOp bind_embed(const OpSite& at) {
  return call(at, Embed{.tokens = at.in(0),
                        .wte = at.in(1),
                        .wpe = at.in(2),
                        .positions = at.in(3),
                        .out = at.out(0)});
}

void reverse_embed(Reverse& reverse, const Op& op) {
  const ValueId tokens = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  const auto wte = reverse.parameter(op.in[1]);
  Reverse::ParameterGradient wpe;
  if (op.in[2] != kNoValue) wpe = reverse.parameter(op.in[2]);
  std::vector<ValueId> in{tokens, dout};
  if (op.in.size() > 3) in.push_back(op.in[3]);
  reverse.emit(op, "", ops::EmbedBackward{}, std::move(in), {wte.value, wpe.value},
               {wte.adds, wpe.adds});
}

void check_embed_backward(const Operands& o) {
  const Value &dout = o.in(1), &dwte = o.out(0);
  DS_ASSERT(is(o.in(0), DType::i32, {rows(dout)}));
  DS_ASSERT(columns(dwte) == columns(dout) && dwte.dtype == DType::f32);
  DS_ASSERT(!o.has_in(2) || (o.has_out(1) && is(o.in(2), DType::i32, {rows(dout)})));
  if (!o.has_out(1)) return;
  const Value& dwpe = o.out(1);
  DS_ASSERT(o.has_in(2) || rows(dout) % rows(dwpe) == 0);
  DS_ASSERT(columns(dwpe) == columns(dout));
  DS_ASSERT(dwpe.dtype == DType::f32);
}

BoundOp bind_embed_backward(const OpSite& at) {
  return call(at, EmbedBackward{.tokens = at.in(0),
                                .dout = at.in(1),
                                .positions = at.in(2),
                                .dwte = at.out(0),
                                .dwpe = at.out(1),
                                .accumulate_wte = at.op.adds_to(0),
                                .accumulate_wpe = at.op.adds_to(1)});
}

}  // namespace

constinit const OpRow ops::Embed::row{.name = "embed",
                                      .in = {"tokens", "wte", "wpe?", "positions??"},
                                      .out = {"out"},
                                      .check = check_embed,
                                      .bind = bind_embed,
                                      .reverse = reverse_embed};

constinit const OpRow ops::EmbedBackward::row{.name = "embed_backward",
                                              .in = {"tokens", "dout", "positions??"},
                                              .out = {"dwte+", "dwpe?+"},
                                              .check = check_embed_backward,
                                              .bind = bind_embed_backward,
                                              .uses_scratch = true};

}  // namespace ds
