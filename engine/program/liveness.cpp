// lives_of(): computes the lives of values in one walk over the ops.
#include "engine/program/liveness.h"

#include <algorithm>

namespace ds {

Home home_of(const Program& program, ValueId id) {
  const Value& value = program.value(id);
  if (value.base == kNoValue) return {id, 0};
  return {value.base, value.offset * size_of(value.dtype)};
}

namespace {

// Reductions of one group belong together. Other ops are one move each, and two may be under way.
bool is_later_work(const Op& op, const Op& later, int moves_between) {
  if (op.stream == StreamId::reduce) return later.group != op.group;
  return moves_between >= 1;
}

// After this many ops, about a block's backward pass, a copy between tiers has most likely ended.
constexpr int kOpsOfACopy = 12;

/// Returns the index in the list at which each op is assumed to have ended. Ops beside the compute
/// stream keep their bytes until their stream has more to do, so the next owner of the bytes rarely
/// has to wait.
std::vector<int> ends_of_ops(const Program& program) {
  const int ops = static_cast<int>(program.ops.size());
  std::vector<int> ends(program.ops.size());
  std::vector<std::vector<int>> of_streams(kStreams);
  for (int i = 0; i < ops; ++i) {
    ends[static_cast<std::size_t>(i)] = i;
    const StreamId stream = program.ops[static_cast<std::size_t>(i)].stream;
    if (stream != StreamId::compute) of_streams[static_cast<std::size_t>(stream)].push_back(i);
  }
  for (const std::vector<int>& list : of_streams) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      const Op& op = program.ops[static_cast<std::size_t>(list[at])];
      const bool moves_tiers = op.stream != StreamId::gather && op.stream != StreamId::reduce;
      int end = moves_tiers ? std::min(ops, list[at] + kOpsOfACopy) : ops;
      for (std::size_t next = at + 1; next < list.size(); ++next) {
        const Op& later = program.ops[static_cast<std::size_t>(list[next])];
        if (!is_later_work(op, later, static_cast<int>(next - at) - 1)) continue;
        end = std::min(end, list[next]);
        break;
      }
      ends[static_cast<std::size_t>(list[at])] = end;
    }
  }
  return ends;
}

}  // namespace

std::vector<Life> lives_of(const Program& program) {
  std::vector<Life> lives(program.values.size());
  const auto use = [&](ValueId id, int op) {
    if (id == kNoValue) return;
    const ValueId base = home_of(program, id).base;
    if (program.lasts(base)) return;
    Life& life = lives[static_cast<std::size_t>(base)];
    life.first = life.used() ? std::min(life.first, op) : op;
    life.last = std::max(life.last, op);
  };
  const int ops = static_cast<int>(program.ops.size());
  const std::vector<int> ends = ends_of_ops(program);
  for (int i = 0; i < ops; ++i) {
    const Op& op = program.ops[static_cast<std::size_t>(i)];
    for (const ValueId id : op.in) use(id, i), use(id, ends[static_cast<std::size_t>(i)]);
    for (const ValueId id : op.out) use(id, i), use(id, ends[static_cast<std::size_t>(i)]);
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
    // The caller fills these in even if no op reads them.
    for (const Input& input : batch.inputs) use(input.value, 0);
    keep(batch.loss);
    keep(batch.count);
  }
  keep(program.final_activation);
  keep(program.logits);
  for (const ParamGroup& group : program.groups) keep(group.gradient);
  return lives;
}

}  // namespace ds
