// verify_shapes(): operands of sums, moves and the step's end against the shapes of
// engine/kernels/ops_*.h.
#include <algorithm>
#include <array>

#include "engine/program/operands.h"
#include "engine/program/verify.h"

namespace ds {
namespace {

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
constexpr std::array kChecks{Check{OpCode::add, check_add},
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
  if (verify_model_op(program, op)) return;
  for (const Check& check : kChecks) {
    if (check.code == op.code) return check.run(Operands(program, op));
  }
  DS_ASSERT(false, "every op must have a check");
}

}  // namespace ds
