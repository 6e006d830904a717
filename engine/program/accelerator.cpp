// The pass for_accelerator(): tiers and streams where the device's memory is not the host's.
#include <algorithm>

#include "engine/program/passes.h"

namespace ds {
namespace {

bool is_on_host(const Program& program, ValueId id) {
  if (id == kNoValue) return true;
  const Tier tier = program.value(id).tier;
  return tier == Tier::host || tier == Tier::pinned_host;
}

bool is_in_files(const Program& program, const std::vector<ValueId>& ids) {
  return std::ranges::any_of(
      ids, [&](ValueId id) { return id != kNoValue && program.value(id).tier == Tier::nvme; });
}

StreamId stream_of(const Program& program, const Op& op) {
  const auto on_host = [&](ValueId id) { return is_on_host(program, id); };
  const bool is_host_work =
      std::ranges::all_of(op.in, on_host) && std::ranges::all_of(op.out, on_host);
  if (is<ops::Update>(op) || is<ops::Clear>(op)) return is_host_work ? StreamId::host : op.stream;
  if (!is<ops::Copy>(op)) return op.stream;
  if (is_in_files(program, op.in)) return StreamId::read;
  if (is_in_files(program, op.out)) return StreamId::write;
  if (!is_host_work) return op.stream;
  return op.stream == StreamId::evict ? StreamId::write : StreamId::read;
}

}  // namespace

Program for_accelerator(Program program) {
  const auto pin = [&](ValueId id) {
    if (id != kNoValue) program.values[static_cast<std::size_t>(id)].tier = Tier::pinned_host;
  };
  for (const MicroBatch& batch : program.micro_batches) {
    for (const Input& input : batch.inputs) pin(input.value);
    pin(batch.loss);
    pin(batch.count);
  }
  pin(program.logits);
  for (Op& op : program.ops) {
    if (is<ops::LeafSquares>(op)) std::ranges::for_each(op.out, pin);
    op.stream = stream_of(program, op);
  }
  return program;
}

}  // namespace ds
