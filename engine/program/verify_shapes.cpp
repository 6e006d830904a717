// Operands against the shapes of engine/kernels/kernels.h, op by op.
#include <algorithm>
#include <array>

#include "engine/program/verify.h"

namespace ds {
namespace {

class Operands {
 public:
  Operands(const Program& program, const Op& op) : program_(program), op_(op) {}

  void count(std::size_t in, std::size_t out) const {
    DS_ASSERT(op_.in.size() == in && op_.out.size() == out, "number of operands");
  }
  [[nodiscard]] const Value& in(std::size_t i) const { return program_.value(op_.in.at(i)); }
  [[nodiscard]] const Value& out(std::size_t i) const { return program_.value(op_.out.at(i)); }
  [[nodiscard]] bool has_in(std::size_t i) const { return op_.in.at(i) != kNoValue; }
  [[nodiscard]] bool has_out(std::size_t i) const { return op_.out.at(i) != kNoValue; }
  [[nodiscard]] const OpAttrs& attrs() const { return op_.attrs; }
  [[nodiscard]] const std::vector<ValueId>& ins() const { return op_.in; }
  [[nodiscard]] const std::vector<ValueId>& outs() const { return op_.out; }

 private:
  const Program& program_;
  const Op& op_;
};

std::int64_t rows(const Value& v) { return v.shape[0]; }
std::int64_t columns(const Value& v) { return v.shape[1]; }
bool same(const Value& a, const Value& b) { return a.dtype == b.dtype && a.shape == b.shape; }
bool is(const Value& v, DType dtype, const Shape& shape) {
  return v.dtype == dtype && v.shape == shape;
}

void check_embed(const Operands& o) {
  o.count(3, 1);
  const Value &tokens = o.in(0), &wte = o.in(1), &wpe = o.in(2), &out = o.out(0);
  DS_ASSERT(is(tokens, DType::i32, {rows(out)}) && rows(out) % rows(wpe) == 0);
  DS_ASSERT(columns(wte) == columns(out) && columns(wpe) == columns(out));
}

void check_embed_backward(const Operands& o) {
  o.count(2, 2);
  const Value &dout = o.in(1), &dwte = o.out(0), &dwpe = o.out(1);
  DS_ASSERT(is(o.in(0), DType::i32, {rows(dout)}) && rows(dout) % rows(dwpe) == 0);
  DS_ASSERT(columns(dwte) == columns(dout) && columns(dwpe) == columns(dout));
  DS_ASSERT(dwte.dtype == DType::f32 && dwpe.dtype == DType::f32);
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

void check_linear(const Operands& o) {
  o.count(3, 2);
  const Value &in = o.in(0), &weight = o.in(1), &out = o.out(0);
  const std::int64_t n = columns(weight);
  DS_ASSERT(columns(in) == rows(weight) && is(o.in(2), in.dtype, {n}) && out.dtype == in.dtype);
  DS_ASSERT(out.shape.elements() == rows(in) * n);
  const bool is_gelu = o.attrs().epilogue == Linear::Epilogue::gelu;
  DS_ASSERT(o.has_out(1) == is_gelu && (!is_gelu || same(o.out(1), out)));
  DS_ASSERT(out.shape.axes() == (o.attrs().epilogue == Linear::Epilogue::heads ? 5 : 2));
}

void check_linear_backward_input(const Operands& o) {
  o.count(2, 1);
  const Value &dout = o.in(0), &weight = o.in(1);
  DS_ASSERT(columns(dout) == columns(weight));
  DS_ASSERT(is(o.out(0), dout.dtype, {rows(dout), rows(weight)}));
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

// A dropout has the numbers of its samples as operand `at`, the last one.
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

void check_attention(const Operands& o) {
  const bool drops = check_draw(o, 1);
  o.count(drops ? 2 : 1, 2);
  DS_ASSERT(!drops || rows(o.in(1)) == o.in(0).shape[1]);
  const Value &qkv = o.in(0), &out = o.out(0);
  const Shape& s = qkv.shape;
  DS_ASSERT(s.axes() == 5 && s[0] == 3 && is(out, qkv.dtype, {s[1] * s[3], s[2] * s[4]}));
  DS_ASSERT(is(o.out(1), DType::f32, {s[1], s[2], s[3]}));
}

void check_attention_backward(const Operands& o) {
  const bool drops = check_draw(o, 4);
  o.count(drops ? 5 : 4, 1);
  DS_ASSERT(!drops || rows(o.in(4)) == o.in(0).shape[1]);
  const Value &qkv = o.in(0), &out = o.in(1);
  DS_ASSERT(same(out, o.in(3)) && qkv.shape.elements() == 3 * out.shape.elements());
  DS_ASSERT(is(o.out(0), qkv.dtype, {rows(out), 3 * columns(out)}));
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

void check_add(const Operands& o) {
  o.count(2, 1);
  DS_ASSERT(same(o.in(0), o.in(1)) && same(o.in(0), o.out(0)));
}

void check_exchange(const Operands& o) {
  o.count(1, 1);
  const CommAttrs& comm = o.attrs().comm;
  DS_ASSERT(comm.cuts.size() == comm.contributes.size() + 1);
  DS_ASSERT(!o.has_in(0) || is(o.in(0), DType::f32, {comm.cuts.back()}));
  const auto from = std::count(comm.contributes.begin(), comm.contributes.end(), true);
  DS_ASSERT(o.out(0).dtype == DType::f32 && rows(o.out(0)) == from);
}

void check_all_gather(const Operands& o) {
  DS_ASSERT(o.ins().size() <= 1 && o.outs().size() == 1);
  DS_ASSERT(o.out(0).shape.elements() == o.attrs().comm.cuts.back());
  DS_ASSERT(o.ins().empty() || o.in(0).dtype == o.out(0).dtype);
}

void check_copy(const Operands& o) {
  o.count(1, 1);
  DS_ASSERT(o.in(0).dtype == o.out(0).dtype);
  DS_ASSERT(o.in(0).shape.elements() == o.out(0).shape.elements());
}

void check_idle(const Operands& o) { o.count(o.ins().size(), 0); }

void check_leaf_squares(const Operands& o) {
  o.count(1, 2);
  const std::int64_t leaves = (o.in(0).shape.elements() + kLeaf - 1) / kLeaf;
  DS_ASSERT(o.in(0).dtype == DType::f32);
  DS_ASSERT(is(o.out(0), DType::f64, {leaves}) && is(o.out(1), DType::i64, {leaves}));
}

void check_control(const Operands& o) {
  DS_ASSERT(o.ins().size() % 2 == 0 && o.outs().empty());
  for (std::size_t i = 0; i < o.ins().size(); i += 2)
    DS_ASSERT(o.in(i).dtype == DType::f64 && o.in(i + 1).dtype == DType::i64);
}

void check_update(const Operands& o) {
  const bool is_split = o.attrs().update.split_master;
  o.count(is_split ? 5 : 4, 4);
  const DType master = is_split ? DType::i16 : DType::f32;
  DS_ASSERT(is(o.in(1), master, o.in(0).shape) && same(o.in(1), o.out(0)));
  DS_ASSERT(!is_split || (is(o.in(4), DType::bf16, o.in(0).shape) && same(o.in(4), o.out(3))));
  const bool has_v = o.attrs().update.has_two_moments();
  DS_ASSERT(o.has_in(3) == has_v && o.has_out(2) == has_v);
  for (std::size_t i = 2; i < (has_v ? 4U : 3U); ++i)
    DS_ASSERT(is(o.in(i), DType::f32, o.in(0).shape) && same(o.in(i), o.out(i - 1)));
  DS_ASSERT(!o.has_out(3) || o.out(3).shape == o.in(0).shape);
}

void check_clear(const Operands& o) { o.count(0, o.outs().size()); }

struct Check {
  OpCode code;
  void (*run)(const Operands&);
};
constexpr std::array kChecks{Check{OpCode::embed, check_embed},
                             Check{OpCode::embed_backward, check_embed_backward},
                             Check{OpCode::layernorm, check_layernorm},
                             Check{OpCode::layernorm_backward, check_layernorm_backward},
                             Check{OpCode::linear, check_linear},
                             Check{OpCode::linear_backward_input, check_linear_backward_input},
                             Check{OpCode::linear_backward_weight, check_linear_backward_weight},
                             Check{OpCode::gelu, check_gelu},
                             Check{OpCode::gelu_backward, check_gelu_backward},
                             Check{OpCode::dropout, check_dropout},
                             Check{OpCode::attention, check_attention},
                             Check{OpCode::attention_backward, check_attention_backward},
                             Check{OpCode::head_loss, check_head_loss},
                             Check{OpCode::head_loss_backward, check_head_loss_backward},
                             Check{OpCode::add, check_add},
                             Check{OpCode::exchange, check_exchange},
                             Check{OpCode::all_gather, check_all_gather},
                             Check{OpCode::copy, check_copy},
                             Check{OpCode::idle, check_idle},
                             Check{OpCode::leaf_squares, check_leaf_squares},
                             Check{OpCode::control, check_control},
                             Check{OpCode::update, check_update},
                             Check{OpCode::clear, check_clear}};

}  // namespace

void verify_shapes(const Program& program, const Op& op) {
  for (const Check& check : kChecks) {
    if (check.code == op.code) return check.run(Operands(program, op));
  }
  DS_ASSERT(false, "an op that nobody checks");
}

}  // namespace ds
