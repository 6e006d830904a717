// Orders of groups, and the merge of update ops into a list of ops.
#include "engine/program/spread.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/program/liveness.h"

namespace ds {
namespace {

/// Calls see(group, index) for every op of `body` that uses a group's weights, whole or split.
template <class See>
void each_use(const Program& program, const std::vector<Op>& body, See see) {
  std::map<ValueId, std::size_t> group_of;
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    group_of[program.groups[g].weights] = g;
    group_of[program.groups[g].slice] = g;
  }
  group_of.erase(kNoValue);
  for (std::size_t i = 0; i < body.size(); ++i) {
    // A rank without a part of the group gathers it too, so that the order is the same on all
    // ranks.
    const bool gathers =
        is<ops::AllGather>(body[i]) && program.value(body[i].out[0]).kind == ValueKind::parameter;
    if (gathers) see(static_cast<std::size_t>(body[i].group), i);
    for (const ValueId id : body[i].in) {
      if (id == kNoValue) continue;
      const auto found = group_of.find(home_of(program, id).base);
      if (found != group_of.end()) see(found->second, i);
    }
  }
}

}  // namespace

std::vector<std::size_t> first_uses(const Program& program, const std::vector<Op>& body) {
  std::vector<std::size_t> first(program.groups.size(), body.size());
  each_use(program, body, [&](std::size_t g, std::size_t i) { first[g] = std::min(first[g], i); });
  return first;
}

std::vector<std::size_t> last_uses(const Program& program, const std::vector<Op>& body) {
  std::vector<std::size_t> last(program.groups.size(), 0);
  each_use(program, body, [&](std::size_t g, std::size_t i) { last[g] = i; });
  return last;
}

// Every rank exchanges every group; a world of one rank computes its norm instead. Where the sum
// itself is gathered (stage 0) or offloaded, those ops come after it.
std::vector<std::size_t> reductions(const Program& program, const std::vector<Op>& body) {
  std::vector<std::size_t> last(program.groups.size(), body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].group < 0) continue;
    const auto g = static_cast<std::size_t>(body[i].group);
    const ValueId gradient = program.groups[g].gradient;
    const bool writes_gradient =
        gradient != kNoValue &&
        std::any_of(body[i].out.begin(), body[i].out.end(), [&](ValueId id) {
          return id != kNoValue && home_of(program, id).base == home_of(program, gradient).base;
        });
    const bool reduces =
        is<ops::Exchange>(body[i]) || is<ops::Add>(body[i]) || is<ops::LeafSquares>(body[i]);
    if (reduces || writes_gradient) last[g] = i;
  }
  return last;
}

StepParts parts_of(const Program& step) {
  const auto control = std::ranges::find_if(step.ops, is<ops::Control>);
  DS_ASSERT(control != step.ops.end());
  return {{step.ops.begin(), control + 1}, {control + 1, step.ops.end()}};
}

std::vector<int> update_order(const Program& step, UpdateMoment time) {
  const StepParts parts = parts_of(step);
  const std::vector<std::size_t> place =
      time == UpdateMoment::backward ? reductions(step, parts.body) : first_uses(step, parts.body);
  std::vector<int> order(place.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<Op> spread(const StepParts& parts, const std::vector<int>& order,
                       const std::vector<std::size_t>& anchor) {
  std::vector<std::size_t> until(anchor.size(), 0);
  for (std::size_t i = 0; i < parts.tail.size(); ++i)
    until[static_cast<std::size_t>(parts.tail[i].group)] = i + 1;
  std::vector<Op> ops;
  std::size_t sent = 0, next = 0;
  const auto send = [&](std::size_t end) {
    for (; sent < end; ++sent) ops.push_back(parts.tail[sent]);
  };
  for (std::size_t i = 0; i < parts.body.size(); ++i) {
    for (; next < order.size(); ++next) {
      const auto g = static_cast<std::size_t>(order[next]);
      if (anchor[g] > i) break;
      send(until[g]);
    }
    if (next == order.size()) send(parts.tail.size());
    ops.push_back(parts.body[i]);
  }
  DS_ASSERT(sent == parts.tail.size(), "every group must have a place");
  return ops;
}

void keep_gradients(Program& step) {
  for (const ParamGroup& group : step.groups) {
    if (group.gradient == kNoValue) continue;
    step.values[static_cast<std::size_t>(home_of(step, group.gradient).base)].persistent = true;
  }
}

}  // namespace ds
