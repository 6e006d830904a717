// The pass rotate(): moves updates to the start of the next step.
#include "engine/program/spread.h"

namespace ds {

// Updates of group g are issued where the group before it is used, so that the weights that they
// send have time to arrive.
RotatedStep rotate(const Program& step, bool overlap) {
  Program common = step;
  keep_gradients(common);
  const StepParts parts = parts_of(common);
  RotatedStep forms{.first = common, .next = common, .flush = common};
  forms.first.ops = parts.body;
  forms.flush.ops = parts.tail;
  forms.flush.micro_batches.clear();
  const std::vector<int> order = update_order(common, UpdateMoment::forward);
  const std::vector<std::size_t> first = first_uses(common, parts.body);
  std::vector<std::size_t> anchor = first;
  for (std::size_t k = 1; overlap && k < order.size(); ++k)
    anchor[static_cast<std::size_t>(order[k])] = first[static_cast<std::size_t>(order[k - 1])];
  forms.next.ops = spread(parts, order, anchor);
  return forms;
}

}  // namespace ds
