// Lives of values: one walk over the ops.
#include "engine/program/liveness.h"

#include <algorithm>

namespace ds {

Home home_of(const Program& program, ValueId id) {
  const Value& value = program.value(id);
  if (value.base == kNoValue) return {id, 0};
  return {value.base, value.offset * size_of(value.dtype)};
}

std::vector<Life> lives_of(const Program& program) {
  std::vector<Life> lives(program.values.size());
  const auto use = [&](ValueId id, int op) {
    if (id == kNoValue) return;
    const ValueId base = home_of(program, id).base;
    if (program.value(base).persistent) return;
    Life& life = lives[static_cast<std::size_t>(base)];
    life.first = life.used() ? std::min(life.first, op) : op;
    life.last = std::max(life.last, op);
  };
  const int ops = static_cast<int>(program.ops.size());
  for (int i = 0; i < ops; ++i) {
    const Op& op = program.ops[static_cast<std::size_t>(i)];
    for (const ValueId id : op.in) use(id, i);
    for (const ValueId id : op.out) use(id, i);
  }
  const auto keep = [&](ValueId id) {
    if (id == kNoValue) return;
    if (lives[static_cast<std::size_t>(home_of(program, id).base)].used()) use(id, ops);
  };
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const bool is_input = program.values[i].kind == ValueKind::input;
    if (is_input && lives[i].used()) lives[i].first = 0;
  }
  for (const MicroBatch& batch : program.micro_batches) {
    keep(batch.loss);
    keep(batch.count);
  }
  keep(program.final_activation);
  for (const ParamGroup& group : program.groups) keep(group.gradient);
  return lives;
}

}  // namespace ds
