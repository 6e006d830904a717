// Attention, and the rotary embedding of its queries and keys, with their reverses.
#include "engine/program/gradients.h"
#include "engine/program/ops/draw.h"
#include "engine/program/ops/heads.h"
#include "engine/program/ops/row.h"

namespace ds {
namespace {

void check_rotary(const Operands& o) {
  const Value& in = o.in(0);
  const auto& attrs = as<ops::Rotary>(o.op());
  DS_ASSERT(same(in, o.out(0)) && attrs.heads > 0 && attrs.theta > 0);
  DS_ASSERT(attrs.scaling.factor >= 1 && attrs.scaling.high > attrs.scaling.low);
  const std::int64_t groups = attrs.kv_heads == 0 ? attrs.heads : attrs.kv_heads;
  const std::int64_t tokens = attrs.rows ? rows(in) : in.shape[1] * in.shape[3];
  DS_ASSERT(!o.has_in(1) || is(o.in(1), DType::i32, {tokens}));
  if (attrs.rows) {
    DS_ASSERT(in.shape.axes() == 2 && columns(in) % (2 * (attrs.heads + 2 * groups)) == 0);
  } else {
    DS_ASSERT(HeadsShape(in, attrs.kv_heads).heads == attrs.heads && in.shape[4] % 2 == 0);
  }
}

BoundOp bind_rotary(const OpSite& at) {
  const auto& attrs = as<ops::Rotary>(at.op);
  return call(at, Rotary{.in = at.in(0),
                         .positions = at.in(1),
                         .out = at.out(0),
                         .seq_len = at.program.extents.seq_len,
                         .heads = attrs.heads,
                         .kv_heads = attrs.kv_heads,
                         .theta = attrs.theta,
                         .scaling = attrs.scaling,
                         .inverse = attrs.inverse,
                         .rows = attrs.rows});
}

// Rotates back, in rows: the layout of attention's gradient.
void reverse_rotary(Reverse& reverse, const Op& op) {
  const ValueId in = op.in[0], dout = reverse.gradient_of(op.out[0]);
  if (dout == kNoValue) return;
  auto attrs = as<ops::Rotary>(op);
  attrs.inverse = attrs.rows = true;
  const ValueId din = reverse.gradient_like(op, "in", dout);
  std::vector<ValueId> operands{dout};
  if (op.in.size() > 1) operands.push_back(op.in[1]);
  reverse.emit(op, "", attrs, std::move(operands), {din});
  reverse.contribute(in, din);
}

std::string print_rotary(const Op& op) {
  const auto& attrs = as<ops::Rotary>(op);
  std::string text = fmt::format(" q={}", attrs.heads);
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  text += fmt::format(" theta={}", attrs.theta);
  const RotaryScaling& s = attrs.scaling;
  if (s.kind == RotaryScaling::Kind::linear) text += fmt::format(" linear={}", s.factor);
  if (s.kind == RotaryScaling::Kind::llama3)
    text += fmt::format(" llama3={},{},{},{}", s.factor, s.low, s.high, s.trained);
  return text + (attrs.inverse ? " inverse" : "") + (attrs.rows ? " rows" : "");
}

void check_attention(const Operands& o) {
  const auto& attrs = as<ops::Attention>(o.op());
  const Value &qkv = o.in(0), &out = o.out(0);
  check_draw(o, attrs.dropout, 1);
  DS_ASSERT(!o.has_in(1) || rows(o.in(1)) == qkv.shape[1]);
  const HeadsShape s(qkv, attrs.kv_heads);
  DS_ASSERT(is(out, qkv.dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.out(1), DType::f32, {s.batch, s.heads, s.time}));
}

BoundOp bind_attention(const OpSite& at) {
  const auto& attrs = as<ops::Attention>(at.op);
  const Attention args{.qkv = at.in(0),
                       .out = at.out(0),
                       .lse = at.out(1),
                       .dropout = draw_of(attrs.dropout, at.in(1)),
                       .kv_heads = attrs.kv_heads};
  return call_with_draw(at, args, &Attention::dropout);
}

// dqkv has the layout that the linear layer before it reads, (rows, (H + 2G) * D), not qkv's.
void reverse_attention(Reverse& reverse, const Op& op) {
  const ValueId qkv = op.in[0], samples = op.in[1], out = op.out[0], lse = op.out[1];
  const ValueId dout = reverse.gradient_of(out);
  if (dout == kNoValue) return;
  const auto& attrs = as<ops::Attention>(op);
  const std::int64_t rows = reverse.value(out).shape[0];
  const Value& value = reverse.value(qkv);
  const ValueId dqkv =
      reverse.activation(op.path + ".grad.qkv", value.dtype, {rows, value.shape.elements() / rows});
  reverse.emit(op, "", ops::AttentionBackward{.dropout = attrs.dropout, .kv_heads = attrs.kv_heads},
               {qkv, out, lse, dout, samples}, {dqkv});
  reverse.contribute(qkv, dqkv);
}

/// Returns the FLOPs of both products of the forward pass, q k^T and the weighted sum of v, where
/// the causal mask leaves them. `out` is (B*T, H*D); the fourth axis of `qkv` is T.
double forward_flops(const Value& qkv, const Value& out) {
  return 2.0 * static_cast<double>(out.shape.elements()) * static_cast<double>(qkv.shape[3]);
}
double attention_flops(const Operands& o) { return forward_flops(o.in(0), o.out(0)); }
double attention_backward_flops(const Operands& o) { return 2 * forward_flops(o.in(0), o.in(1)); }

template <class Kind>
std::string print_attention(const Op& op) {
  const auto& attrs = as<Kind>(op);
  std::string text = text_of(attrs.dropout);
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  return text;
}

void check_attention_backward(const Operands& o) {
  const auto& attrs = as<ops::AttentionBackward>(o.op());
  const Value &qkv = o.in(0), &out = o.in(1);
  check_draw(o, attrs.dropout, 4);
  DS_ASSERT(!o.has_in(4) || rows(o.in(4)) == qkv.shape[1]);
  const HeadsShape s(qkv, attrs.kv_heads);
  DS_ASSERT(same(out, o.in(3)) && is(out, qkv.dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.out(0), qkv.dtype, {rows(out), s.row()}));
}

BoundOp bind_attention_backward(const OpSite& at) {
  const auto& attrs = as<ops::AttentionBackward>(at.op);
  const AttentionBackward args{.qkv = at.in(0),
                               .out = at.in(1),
                               .lse = at.in(2),
                               .dout = at.in(3),
                               .dqkv = at.out(0),
                               .dropout = draw_of(attrs.dropout, at.in(4)),
                               .kv_heads = attrs.kv_heads};
  return call_with_draw(at, args, &AttentionBackward::dropout);
}

}  // namespace

constinit const OpRow ops::Rotary::row{.name = "rotary",
                                       .in = {"qkv", "positions??"},
                                       .out = {"qkv"},
                                       .check = check_rotary,
                                       .bind = bind_rotary,
                                       .reverse = reverse_rotary,
                                       .uses_scratch = true,
                                       .print = print_rotary};

constinit const OpRow ops::Attention::row{.name = "attention",
                                          .in = {"qkv", "samples?"},
                                          .out = {"out", "lse"},
                                          .check = check_attention,
                                          .bind = bind_attention,
                                          .reverse = reverse_attention,
                                          .again = {.cheap = all_results},
                                          .flops = attention_flops,
                                          .uses_scratch = true,
                                          .varies = draws<ops::Attention>,
                                          .print = print_attention<ops::Attention>};

constinit const OpRow ops::AttentionBackward::row{.name = "attention_backward",
                                                  .in = {"qkv", "out", "lse", "dout", "samples?"},
                                                  .out = {"dqkv"},
                                                  .check = check_attention_backward,
                                                  .bind = bind_attention_backward,
                                                  .flops = attention_backward_flops,
                                                  .uses_scratch = true,
                                                  .varies = draws<ops::AttentionBackward>,
                                                  .print = print_attention<ops::AttentionBackward>};

}  // namespace ds
