// Ops of other streams count for what their stream does. Ops of the model follow their Phase; the
// ops that passes add are known by kind.
#include "engine/execute/op_phase.h"

#include <algorithm>

namespace ds {
namespace {

bool leaves_device(const Program& program, const Op& op) {
  const auto is_elsewhere = [&](ValueId id) {
    return id != kNoValue && program.value(id).tier != Tier::device;
  };
  return std::ranges::any_of(op.in, is_elsewhere) || std::ranges::any_of(op.out, is_elsewhere);
}

}  // namespace

StepPhase phase_of(const Program& program, const Op& op) {
  if (op.stream != StreamId::compute) return phase_of(op.stream);
  if (is<ops::Exchange>(op)) return StepPhase::reduce;
  if (is<ops::AllGather>(op)) return StepPhase::gather;
  if (is<ops::Control>(op)) return StepPhase::control;
  if (is<ops::Update>(op) || is<ops::LeafSquares>(op)) return StepPhase::update;
  if (is<ops::Copy>(op) && leaves_device(program, op)) return StepPhase::offload;
  if (op.phase == Phase::forward) return StepPhase::forward;
  if (op.phase == Phase::backward) return StepPhase::backward;
  if (is<ops::Add>(op)) return StepPhase::reduce;      // sums of what the ranks sent
  if (is<ops::Clear>(op)) return StepPhase::backward;  // gradients, before they are summed
  return StepPhase::other;
}

StepPhase phase_of(StreamId stream) {
  switch (stream) {
    case StreamId::compute:
      return StepPhase::other;
    case StreamId::gather:
      return StepPhase::gather;
    case StreamId::reduce:
      return StepPhase::reduce;
    case StreamId::host:
      return StepPhase::update;
    case StreamId::fetch:
    case StreamId::evict:
    case StreamId::read:
    case StreamId::write:
      return StepPhase::offload;
  }
  return StepPhase::other;
}

}  // namespace ds
