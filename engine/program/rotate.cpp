// The pass "rotate": what follows control moves to the next step's start.
#include <algorithm>
#include <map>
#include <set>

#include "engine/program/liveness.h"
#include "engine/program/offload.h"

namespace ds {
namespace {

/// The place of each group's first use in `body`: of its weights, whole or split.
std::vector<std::size_t> first_uses(const Program& program, const std::vector<Op>& body) {
  std::map<ValueId, std::size_t> group_of;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    group_of[program.groups[g].weights] = g;
    group_of[program.groups[g].slice] = g;
  }
  group_of.erase(kNoValue);
  std::vector<std::size_t> first(program.groups.size(), body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (const ValueId id : body[i].in) {
      if (id == kNoValue) continue;
      const auto found = group_of.find(home_of(program, id).base);
      if (found != group_of.end()) first[found->second] = std::min(first[found->second], i);
    }
  }
  return first;
}

}  // namespace

RotatedStep rotate(const Program& step, bool overlap) {
  const auto control = std::find_if(step.ops.begin(), step.ops.end(),
                                    [](const Op& op) { return op.code == OpCode::control; });
  DS_ASSERT(control != step.ops.end());
  Program common = step;  // what the update reads outlives the step that made it
  for (const ParamGroup& group : common.groups) {
    Value& gradient = common.values[static_cast<std::size_t>(home_of(common, group.gradient).base)];
    gradient.persistent = true;
  }
  const std::vector<Op> body(step.ops.begin(), control + 1), tail(control + 1, step.ops.end());
  RotatedStep forms{.first = common, .next = common, .flush = common};
  forms.first.ops = body;
  forms.flush.ops = tail;
  forms.flush.micro_batches.clear();

  // Updates keep their order; those of group g, and what must come before them, are issued where
  // the group before it is used, so that what they send has time to arrive.
  std::vector<std::size_t> until(common.groups.size(), 0);
  for (std::size_t i = 0; i < tail.size(); ++i)
    until[static_cast<std::size_t>(tail[i].attrs.group)] = i + 1;
  const std::vector<std::size_t> first = first_uses(common, body);
  std::vector<std::size_t> order(first.size());
  for (std::size_t g = 0; g < order.size(); ++g) order[g] = g;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  std::vector<Op> ops;
  std::size_t sent = 0, next = 0;
  const auto send = [&](std::size_t end) {
    for (; sent < end; ++sent) ops.push_back(tail[sent]);
  };
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (; next < order.size(); ++next) {
      const std::size_t anchor = first[order[overlap && next > 0 ? next - 1 : next]];
      if (anchor > i) break;
      send(until[order[next]]);
    }
    if (next == order.size()) send(tail.size());
    ops.push_back(body[i]);
  }
  DS_ASSERT(sent == tail.size(), "every group is used");
  forms.next.ops = std::move(ops);
  return forms;
}

}  // namespace ds
