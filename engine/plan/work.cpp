// flops_of(): adds up the rows' counts.
#include "engine/plan/work.h"

#include "engine/program/ops/row.h"

namespace ds {

double flops_of(const Program& program, double target_share) {
  double sum = 0;
  for (const Op& op : program.ops) {
    const OpRow& row = row_of(op);
    if (row.flops == nullptr) continue;
    sum += row.flops(Operands(program, op)) * (row.counts_targets ? target_share : 1);
  }
  return sum;
}

}  // namespace ds
