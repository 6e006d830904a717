// verify_model_op(): operands of the ops of models against the shapes of engine/kernels/ops_*.h.
#include <array>

#include "engine/program/operands.h"
#include "engine/program/verify.h"

namespace ds {
namespace {

void check_embed(const Operands& o) {
  o.count(3, 1);
  const Value &tokens = o.in(0), &wte = o.in(1), &out = o.out(0);
  DS_ASSERT(is(tokens, DType::i32, {rows(out)}) && columns(wte) == columns(out));
  if (!o.has_in(2)) return;
  DS_ASSERT(rows(out) % rows(o.in(2)) == 0 && columns(o.in(2)) == columns(out));
}

void check_embed_backward(const Operands& o) {
  o.count(2, 2);
  const Value &dout = o.in(1), &dwte = o.out(0);
  DS_ASSERT(is(o.in(0), DType::i32, {rows(dout)}));
  DS_ASSERT(columns(dwte) == columns(dout) && dwte.dtype == DType::f32);
  if (!o.has_out(1)) return;
  const Value& dwpe = o.out(1);
  DS_ASSERT(rows(dout) % rows(dwpe) == 0 && columns(dwpe) == columns(dout));
  DS_ASSERT(dwpe.dtype == DType::f32);
}

void check_layernorm(const Operands& o) {
  o.count(4, 4);
  const Value &in = o.in(0), &out = o.out(1);
  DS_ASSERT(same(in, out) && o.has_in(1) == o.has_out(0));
  DS_ASSERT(!o.has_in(1) || (same(in, o.in(1)) && same(in, o.out(0))));
  DS_ASSERT(is(o.in(2), in.dtype, {columns(in)}) && is(o.in(3), in.dtype, {columns(in)}));
  DS_ASSERT(is(o.out(2), DType::f32, {rows(in)}) && is(o.out(3), DType::f32, {rows(in)}));
}

void check_layernorm_backward(const Operands& o) {
  o.count(6, 3);
  const Value &dout = o.in(0), &din = o.out(0);
  DS_ASSERT(same(dout, o.in(1)) && same(dout, din) && (!o.has_in(5) || same(dout, o.in(5))));
  DS_ASSERT(is(o.in(2), din.dtype, {columns(din)}));
  DS_ASSERT(is(o.in(3), DType::f32, {rows(din)}) && is(o.in(4), DType::f32, {rows(din)}));
  DS_ASSERT(is(o.out(1), DType::f32, {columns(din)}) && is(o.out(2), DType::f32, {columns(din)}));
}

void check_rmsnorm(const Operands& o) {
  o.count(3, 3);
  const Value &in = o.in(0), &out = o.out(1);
  DS_ASSERT(same(in, out) && o.has_in(1) == o.has_out(0));
  DS_ASSERT(!o.has_in(1) || (same(in, o.in(1)) && same(in, o.out(0))));
  DS_ASSERT(is(o.in(2), in.dtype, {columns(in)}) && is(o.out(2), DType::f32, {rows(in)}));
}

void check_rmsnorm_backward(const Operands& o) {
  o.count(5, 2);
  const Value &dout = o.in(0), &din = o.out(0);
  DS_ASSERT(same(dout, o.in(1)) && same(dout, din) && (!o.has_in(4) || same(dout, o.in(4))));
  DS_ASSERT(is(o.in(2), din.dtype, {columns(din)}) && is(o.in(3), DType::f32, {rows(din)}));
  DS_ASSERT(is(o.out(1), DType::f32, {columns(din)}));
}

// (3, B, H, T, D), or with fewer heads of keys (1, B, H + 2G, T, D).
struct HeadsShape {
  std::int64_t batch, heads, groups, time, depth;
  explicit HeadsShape(const Value& value, const HeadsAttrs& attrs) {
    const Shape& s = value.shape;
    DS_ASSERT(s.axes() == 5 && s[0] == (attrs.kv_heads == 0 ? 3 : 1));
    batch = s[1], time = s[3], depth = s[4];
    heads = attrs.kv_heads == 0 ? s[2] : s[2] - 2 * attrs.kv_heads;
    groups = attrs.kv_heads == 0 ? heads : attrs.kv_heads;
    DS_ASSERT(heads > 0 && heads % groups == 0);
  }
  [[nodiscard]] std::int64_t row() const { return (heads + 2 * groups) * depth; }
};

void check_linear(const Operands& o) {
  o.count(3, 2);
  const Value &in = o.in(0), &weight = o.in(1), &out = o.out(0);
  const std::int64_t n = columns(weight);
  DS_ASSERT(columns(in) == rows(weight) && out.dtype == in.dtype);
  DS_ASSERT(!o.has_in(2) || is(o.in(2), in.dtype, {n}));
  DS_ASSERT(out.shape.elements() == rows(in) * n);
  const bool is_gelu = o.attrs().epilogue == Linear::Epilogue::gelu;
  DS_ASSERT(o.has_out(1) == is_gelu && (!is_gelu || same(o.out(1), out)));
  if (o.attrs().epilogue == Linear::Epilogue::heads) {
    DS_ASSERT(HeadsShape(out, o.attrs().heads).row() == n);
  } else {
    DS_ASSERT(out.shape.axes() == 2);
  }
}

void check_linear_backward_input(const Operands& o) {
  o.count(3, 1);
  const Value &dout = o.in(0), &weight = o.in(1);
  DS_ASSERT(columns(dout) == columns(weight));
  DS_ASSERT(is(o.out(0), dout.dtype, {rows(dout), rows(weight)}));
  DS_ASSERT(!o.has_in(2) || same(o.in(2), o.out(0)));
}

void check_linear_backward_weight(const Operands& o) {
  o.count(2, 2);
  const Value &in = o.in(0), &dout = o.in(1);
  DS_ASSERT(rows(in) == rows(dout) && in.dtype == dout.dtype);
  DS_ASSERT(is(o.out(0), DType::f32, {columns(in), columns(dout)}));
  DS_ASSERT(!o.has_out(1) || is(o.out(1), DType::f32, {columns(dout)}));
}

void check_gelu(const Operands& o) {
  o.count(1, 1);
  DS_ASSERT(same(o.in(0), o.out(0)));
}

void check_gelu_backward(const Operands& o) {
  o.count(2, 1);
  DS_ASSERT(same(o.in(0), o.in(1)) && same(o.in(0), o.out(0)));
}

void check_swiglu(const Operands& o) {
  o.count(1, 1);
  const Value &in = o.in(0), &out = o.out(0);
  DS_ASSERT(is(in, out.dtype, {rows(out), 2 * columns(out)}));
}

void check_swiglu_backward(const Operands& o) {
  o.count(2, 1);
  const Value &in = o.in(0), &dout = o.in(1);
  DS_ASSERT(is(in, dout.dtype, {rows(dout), 2 * columns(dout)}) && same(in, o.out(0)));
}

// Checks that an op with dropout has the sample numbers as its last operand, number `at`.
bool check_draw(const Operands& o, std::size_t at) {
  const float rate = o.attrs().dropout.rate;
  if (rate == 0) return false;
  DS_ASSERT(rate > 0 && rate <= 1);
  DS_ASSERT(o.in(at).dtype == DType::i64 && o.in(at).shape.axes() == 1);
  return true;
}

void check_dropout(const Operands& o) {
  o.count(2, 1);
  DS_ASSERT(same(o.in(0), o.out(0)) && check_draw(o, 1));
  DS_ASSERT(rows(o.in(0)) % rows(o.in(1)) == 0);
}

void check_rotary(const Operands& o) {
  o.count(1, 1);
  const Value& in = o.in(0);
  const HeadsAttrs& heads = o.attrs().heads;
  DS_ASSERT(same(in, o.out(0)) && heads.heads > 0 && heads.theta > 0);
  const std::int64_t groups = heads.kv_heads == 0 ? heads.heads : heads.kv_heads;
  if (heads.rows) {
    DS_ASSERT(in.shape.axes() == 2 && columns(in) % (2 * (heads.heads + 2 * groups)) == 0);
  } else {
    DS_ASSERT(HeadsShape(in, heads).heads == heads.heads && in.shape[4] % 2 == 0);
  }
}

void check_attention(const Operands& o) {
  const bool drops = check_draw(o, 1);
  o.count(drops ? 2 : 1, 2);
  DS_ASSERT(!drops || rows(o.in(1)) == o.in(0).shape[1]);
  const Value &qkv = o.in(0), &out = o.out(0);
  const HeadsShape s(qkv, o.attrs().heads);
  DS_ASSERT(is(out, qkv.dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.out(1), DType::f32, {s.batch, s.heads, s.time}));
}

void check_attention_backward(const Operands& o) {
  const bool drops = check_draw(o, 4);
  o.count(drops ? 5 : 4, 1);
  DS_ASSERT(!drops || rows(o.in(4)) == o.in(0).shape[1]);
  const Value &qkv = o.in(0), &out = o.in(1);
  const HeadsShape s(qkv, o.attrs().heads);
  DS_ASSERT(same(out, o.in(3)) && is(out, qkv.dtype, {s.batch * s.time, s.heads * s.depth}));
  DS_ASSERT(is(o.out(0), qkv.dtype, {rows(out), s.row()}));
}

void check_head(const Operands& o) {
  const Value &in = o.in(0), &weight = o.in(1);
  DS_ASSERT(columns(in) == columns(weight) && is(o.in(2), DType::i32, {rows(in)}));
  DS_ASSERT(is(o.out(0), DType::f64, {1}) && is(o.out(1), DType::i64, {1}));
  DS_ASSERT(o.attrs().valid_vocab > 0 && o.attrs().valid_vocab <= rows(weight));
  DS_ASSERT(o.attrs().chunk_rows > 0);
}

void check_head_loss(const Operands& o) {
  o.count(3, 2);
  check_head(o);
}

void check_head_loss_backward(const Operands& o) {
  o.count(3, 4);
  check_head(o);
  DS_ASSERT(same(o.in(0), o.out(2)) && is(o.out(3), DType::f32, o.in(1).shape));
}

struct Check {
  OpCode code;
  void (*run)(const Operands&);
};
constexpr std::array kChecks{Check{OpCode::embed, check_embed},
                             Check{OpCode::embed_backward, check_embed_backward},
                             Check{OpCode::layernorm, check_layernorm},
                             Check{OpCode::layernorm_backward, check_layernorm_backward},
                             Check{OpCode::rmsnorm, check_rmsnorm},
                             Check{OpCode::rmsnorm_backward, check_rmsnorm_backward},
                             Check{OpCode::linear, check_linear},
                             Check{OpCode::linear_backward_input, check_linear_backward_input},
                             Check{OpCode::linear_backward_weight, check_linear_backward_weight},
                             Check{OpCode::gelu, check_gelu},
                             Check{OpCode::gelu_backward, check_gelu_backward},
                             Check{OpCode::swiglu, check_swiglu},
                             Check{OpCode::swiglu_backward, check_swiglu_backward},
                             Check{OpCode::dropout, check_dropout},
                             Check{OpCode::rotary, check_rotary},
                             Check{OpCode::attention, check_attention},
                             Check{OpCode::attention_backward, check_attention_backward},
                             Check{OpCode::head_loss, check_head_loss},
                             Check{OpCode::head_loss_backward, check_head_loss_backward}};

}  // namespace

bool verify_model_op(const Program& program, const Op& op) {
  for (const Check& check : kChecks) {
    if (check.code != op.code) continue;
    check.run(Operands(program, op));
    return true;
  }
  return false;
}

}  // namespace ds
