// Updates beside the backward pass.
#include <algorithm>

#include "engine/program/spread.h"

namespace ds {

// Updates of group g are issued when the group after it is complete: by then its own sum has
// arrived. States that are read first are read from the start.
EarlyStep update_early(const Program& step, bool overlap) {
  Program common = step;
  keep_gradients(common);
  StepParts parts = parts_of(common);
  EarlyStep forms{.step = common, .redo = common};
  forms.redo.ops = parts.tail;
  forms.redo.micro_batches.clear();
  const std::vector<int> order = update_order(common, UpdateMoment::backward);
  const std::vector<std::size_t> done = reductions(common, parts.body);
  std::vector<std::size_t> anchor(done.size(), parts.body.size() - 1);  // control
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t after = overlap ? k + 1 : k;
    if (after >= order.size()) continue;
    anchor[static_cast<std::size_t>(order[k])] =
        std::min(done[static_cast<std::size_t>(order[after])] + 1, parts.body.size() - 1);
  }
  const auto is_read = [&](const Op& op) {
    return op.code == OpCode::copy && common.value(op.in[0]).kind == ValueKind::state &&
           op.stream == StreamId::fetch;
  };
  const auto reads_end = std::find_if_not(parts.tail.begin(), parts.tail.end(), is_read);
  std::vector<Op> ops(parts.tail.begin(), reads_end);
  parts.tail.erase(parts.tail.begin(), reads_end);
  const std::vector<Op> rest = spread(parts, order, anchor);
  ops.insert(ops.end(), rest.begin(), rest.end());
  forms.step.ops = std::move(ops);
  return forms;
}

}  // namespace ds
