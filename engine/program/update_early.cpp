// The pass update_early(): runs updates beside the backward pass.
#include <algorithm>
#include <map>

#include "engine/program/liveness.h"
#include "engine/program/spread.h"

namespace ds {
namespace {

// Only the order of the list keeps an update from reading a gradient that is not complete: the
// proof of edges shows merely that this order is kept.
void require_complete_gradients(const Program& step, const StepParts& parts) {
  std::map<ValueId, int> writers;  // by gradient: how many of its writers are still to come
  for (const ParamGroup& group : step.groups) {
    if (group.gradient != kNoValue) writers[home_of(step, group.gradient).base] = 0;
  }
  const auto each_written = [&](const Op& op, auto see) {
    for (const ValueId id : op.out) {
      const auto found = id == kNoValue ? writers.end() : writers.find(home_of(step, id).base);
      if (found != writers.end()) see(found->second);
    }
  };
  for (const Op& op : parts.body) each_written(op, [](int& count) { ++count; });
  for (const Op& op : step.ops) {
    const bool is_update = is<ops::Update>(op) || is<ops::Copy>(op);
    for (const ValueId id : op.in) {
      if (!is_update || id == kNoValue) continue;
      const auto found = writers.find(home_of(step, id).base);
      DS_ASSERT(found == writers.end() || found->second == 0,
                "an update must read a complete gradient");
    }
    each_written(op, [](int& count) { --count; });
  }
}

/// Returns for each group the last op of the body that reads its weights, which an update changes;
/// -1 if none does. In a block that ends with a norm, the first layer's weights are read after the
/// group's gradients are complete.
std::vector<int> last_reads(const Program& step, const std::vector<Op>& body) {
  std::vector<int> last(step.groups.size(), -1);
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (const ValueId id : body[i].in) {
      if (id == kNoValue) continue;
      const ValueId home = home_of(step, id).base;
      for (std::size_t g = 0; g < step.groups.size(); ++g) {
        for (const ValueId own : {step.groups[g].weights, step.groups[g].slice})
          if (own != kNoValue && home_of(step, own).base == home) last[g] = static_cast<int>(i);
      }
    }
  }
  return last;
}

}  // namespace

// Updates of group g are issued when the next group is complete: by then the sum of g has arrived.
// States that are read first are read from the start.
EarlyStep update_early(const Program& step, bool overlap) {
  Program common = step;
  keep_gradients(common);
  StepParts parts = parts_of(common);
  EarlyStep forms{.step = common, .redo = common};
  forms.redo.ops = parts.tail;
  forms.redo.micro_batches.clear();
  const std::vector<int> order = update_order(common, UpdateMoment::backward);
  const std::vector<std::size_t> done = reductions(common, parts.body);
  const std::vector<int> reads = last_reads(common, parts.body);
  std::vector<std::size_t> anchor(done.size(), parts.body.size() - 1);  // the control op
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t after = overlap ? k + 1 : k;
    if (after >= order.size()) continue;
    const auto group = static_cast<std::size_t>(order[k]);
    const std::size_t complete = done[static_cast<std::size_t>(order[after])] + 1;
    const auto unread = static_cast<std::size_t>(reads[group] + 1);
    anchor[group] = std::min(std::max(complete, unread), parts.body.size() - 1);
  }
  const auto is_read = [&](const Op& op) {
    return is<ops::Copy>(op) && common.value(op.in[0]).kind == ValueKind::state &&
           op.stream == StreamId::fetch;
  };
  const auto reads_end = std::find_if_not(parts.tail.begin(), parts.tail.end(), is_read);
  std::vector<Op> ops(parts.tail.begin(), reads_end);
  parts.tail.erase(parts.tail.begin(), reads_end);
  const std::vector<Op> rest = spread(parts, order, anchor);
  ops.insert(ops.end(), rest.begin(), rest.end());
  forms.step.ops = std::move(ops);
  require_complete_gradients(forms.step, parts);
  return forms;
}

}  // namespace ds
