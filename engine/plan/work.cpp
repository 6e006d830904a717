// flops_of(): adds up the rows' counts.
#include "engine/plan/work.h"

#include "engine/program/ops/row.h"

namespace ds {

double flops_of(const Program& program) {
  double sum = 0;
  for (const Op& op : program.ops)
    if (const auto flops = row_of(op).flops; flops != nullptr) sum += flops(Operands(program, op));
  return sum;
}

}  // namespace ds
