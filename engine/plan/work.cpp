// flops_of(): one case per op with a matrix product.
#include "engine/plan/work.h"

namespace ds {
namespace {

double rows_of(const Value& value) { return static_cast<double>(value.shape[0]); }
double elements_of(const Value& value) { return static_cast<double>(value.shape.elements()); }

/// Returns both products of the forward pass, q k^T and the weighted sum of v, where the causal
/// mask leaves them. `out` is (B*T, H*D); the fourth axis of `qkv` is T.
double attention_flops(const Value& qkv, const Value& out) {
  return 2 * elements_of(out) * static_cast<double>(qkv.shape[3]);
}

double flops_of(const Program& program, const Op& op) {
  const auto in = [&](std::size_t i) -> const Value& { return program.value(op.in[i]); };
  switch (op.code) {
    case OpCode::linear:
    case OpCode::linear_backward_input:
      return 2 * rows_of(in(0)) * elements_of(in(1));
    case OpCode::linear_backward_weight:
      return 2 * rows_of(in(0)) * elements_of(program.value(op.out[0]));
    case OpCode::attention:
      return attention_flops(in(0), program.value(op.out[0]));
    case OpCode::attention_backward:
      return 2 * attention_flops(in(0), in(1));
    case OpCode::head_loss:
      return 2 * rows_of(in(0)) * elements_of(in(1));
    case OpCode::head_loss_backward:
      return 6 * rows_of(in(0)) * elements_of(in(1));
    default:
      return 0;
  }
}

}  // namespace

double flops_of(const Program& program) {
  double sum = 0;
  for (const Op& op : program.ops) sum += flops_of(program, op);
  return sum;
}

}  // namespace ds
