// Attention, and the rotary embedding of its queries and keys, with their reverses.
#include <algorithm>

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

// Operands from `at` on: kv, ranges, bias.
const Value* kv_of(const Operands& o, std::size_t at) { return o.has_in(at) ? &o.in(at) : nullptr; }

AttentionShape check_masks(const Operands& o, const ops::Attention& attrs, std::size_t at) {
  const AttentionShape s(o.in(0), kv_of(o, at), attrs.kv_heads);
  DS_ASSERT(attrs.window >= 0 && attrs.scale >= 0);
  DS_ASSERT(!o.has_in(at + 1) || is(o.in(at + 1), DType::i32, {s.batch, s.time, 2}));
  DS_ASSERT(!o.has_in(at + 2) || is(o.in(at + 2), DType::f32, {s.heads, s.time + s.keys - 1}));
  return s;
}

void check_attention(const Operands& o) {
  const auto& attrs = as<ops::Attention>(o.op());
  const Value& out = o.out(0);
  const AttentionShape s = check_masks(o, attrs, 2);
  check_draw(o, attrs.dropout, 1);
  DS_ASSERT(!o.has_in(1) || rows(o.in(1)) == s.batch);
  DS_ASSERT(is(out, o.in(0).dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.out(1), DType::f32, {s.batch, s.heads, s.time}));
}

BoundOp bind_attention(const OpSite& at) {
  const auto& attrs = as<ops::Attention>(at.op);
  const Attention args{.qkv = at.in(0),
                       .kv = at.in(2),
                       .ranges = at.in(3),
                       .bias = at.in(4),
                       .out = at.out(0),
                       .lse = at.out(1),
                       .dropout = draw_of(attrs.dropout, at.in(1)),
                       .kv_heads = attrs.kv_heads,
                       .causal = attrs.causal,
                       .window = attrs.window,
                       .scale = attrs.scale};
  return call_with_draw(at, args, &Attention::dropout);
}

/// Returns the operands without absent ones at the end, of which `least` stay.
std::vector<ValueId> without_absent(std::vector<ValueId> ids, std::size_t least) {
  while (ids.size() > least && ids.back() == kNoValue) ids.pop_back();
  return ids;
}

// dqkv and dkv have the layout that the linear layers before them read: rows, not qkv's and kv's.
void reverse_attention(Reverse& reverse, const Op& op) {
  const ValueId qkv = op.in[0], samples = op.in[1], out = op.out[0], lse = op.out[1];
  const ValueId kv = operand(op.in, 2), ranges = operand(op.in, 3), bias = operand(op.in, 4);
  const ValueId dout = reverse.gradient_of(out);
  if (dout == kNoValue) return;
  const auto in_rows = [&](const char* name, ValueId id, std::int64_t rows) {
    const Value& value = reverse.value(id);
    return reverse.activation(op.path + name, value.dtype, {rows, value.shape.elements() / rows});
  };
  const ValueId dqkv = in_rows(".grad.qkv", qkv, reverse.value(out).shape[0]);
  ValueId dkv = kNoValue, dbias = kNoValue;
  if (kv != kNoValue) {
    const Shape shape = reverse.value(kv).shape;
    dkv = in_rows(".grad.kv", kv, shape[1] * shape[3]);
  }
  if (bias != kNoValue) dbias = reverse.gradient_like(op, "bias", bias);
  reverse.emit(op, "", ops::AttentionBackward{as<ops::Attention>(op)},
               without_absent({qkv, out, lse, dout, samples, kv, ranges, bias}, 5),
               without_absent({dqkv, dkv, dbias}, 1));
  reverse.contribute(qkv, dqkv);
  if (kv != kNoValue) reverse.contribute(kv, dkv);
  if (bias != kNoValue) reverse.contribute(bias, dbias);
}

/// Returns the area under min(max(query - shift, 0), keys) for queries from 0 to `time`.
double area(double time, double keys, double shift) {
  const double width = std::max(time - shift, 0.0), ramp = std::min(width, keys);
  return ramp * ramp / 2 + (width - ramp) * keys;
}

/// Returns the FLOPs of both products of the forward pass, q k^T and the weighted sum of v, where
/// the causal mask and the window leave them (half of a square, not its diagonal). Documents are
/// data, and count as if they were one.
double forward_flops(const Operands& o, const ops::Attention& attrs, std::size_t at) {
  const AttentionShape s(o.in(0), kv_of(o, at), attrs.kv_heads);
  const auto time = static_cast<double>(s.time), keys = static_cast<double>(s.keys);
  double pairs = attrs.causal ? area(time, keys, 0) : time * keys;
  if (attrs.window > 0) pairs -= area(time, keys, static_cast<double>(attrs.window));
  return 4 * static_cast<double>(s.batch * s.heads * s.depth) * pairs;
}
double attention_flops(const Operands& o) {
  return forward_flops(o, as<ops::Attention>(o.op()), 2);
}
double attention_backward_flops(const Operands& o) {
  return 2 * forward_flops(o, as<ops::AttentionBackward>(o.op()).forward, 5);
}

std::string text_of(const ops::Attention& attrs) {
  std::string text = text_of(attrs.dropout);
  if (attrs.kv_heads != 0) text += fmt::format(" kv={}", attrs.kv_heads);
  if (!attrs.causal) text += " all";
  if (attrs.window != 0) text += fmt::format(" window={}", attrs.window);
  if (attrs.scale != 0) text += fmt::format(" scale={}", attrs.scale);
  return text;
}
std::string print_attention(const Op& op) { return text_of(as<ops::Attention>(op)); }
std::string print_attention_backward(const Op& op) {
  return text_of(as<ops::AttentionBackward>(op).forward);
}
bool backward_draws(const Op& op) {
  return as<ops::AttentionBackward>(op).forward.dropout.rate != 0;
}

void check_attention_backward(const Operands& o) {
  const auto& attrs = as<ops::AttentionBackward>(o.op()).forward;
  const Value &qkv = o.in(0), &out = o.in(1);
  const AttentionShape s = check_masks(o, attrs, 5);
  check_draw(o, attrs.dropout, 4);
  DS_ASSERT(!o.has_in(4) || rows(o.in(4)) == s.batch);
  DS_ASSERT(same(out, o.in(3)) && is(out, qkv.dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.in(2), DType::f32, {s.batch, s.heads, s.time}));
  DS_ASSERT(is(o.out(0), qkv.dtype, {rows(out), s.query_columns()}));
  DS_ASSERT(o.has_out(1) == s.cross && o.has_out(2) == o.has_in(7));
  DS_ASSERT(!s.cross || is(o.out(1), qkv.dtype, {s.batch * s.keys, 2 * s.groups * s.depth}));
  DS_ASSERT(!o.has_out(2) || same(o.out(2), o.in(7)));
}

BoundOp bind_attention_backward(const OpSite& at) {
  const auto& attrs = as<ops::AttentionBackward>(at.op).forward;
  const AttentionBackward args{.qkv = at.in(0),
                               .kv = at.in(5),
                               .ranges = at.in(6),
                               .bias = at.in(7),
                               .out = at.in(1),
                               .lse = at.in(2),
                               .dout = at.in(3),
                               .dqkv = at.out(0),
                               .dkv = at.out(1),
                               .dbias = at.out(2),
                               .dropout = draw_of(attrs.dropout, at.in(4)),
                               .kv_heads = attrs.kv_heads,
                               .causal = attrs.causal,
                               .window = attrs.window,
                               .scale = attrs.scale};
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
                                          .in = {"qkv", "samples?", "kv??", "ranges??", "bias??"},
                                          .out = {"out", "lse"},
                                          .check = check_attention,
                                          .bind = bind_attention,
                                          .reverse = reverse_attention,
                                          .again = {.cheap = all_results},
                                          .flops = attention_flops,
                                          .uses_scratch = true,
                                          .varies = draws<ops::Attention>,
                                          .print = print_attention};

constinit const OpRow ops::AttentionBackward::row{
    .name = "attention_backward",
    .in = {"qkv", "out", "lse", "dout", "samples?", "kv??", "ranges??", "bias??"},
    .out = {"dqkv", "dkv??", "dbias??"},
    .check = check_attention_backward,
    .bind = bind_attention_backward,
    .flops = attention_backward_flops,
    .uses_scratch = true,
    .varies = backward_draws,
    .print = print_attention_backward};

}  // namespace ds
