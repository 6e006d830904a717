// Tests of phase_of(): which phase of a step the ops of each kind count for.
#include "engine/execute/op_phase.h"

#include <doctest/doctest.h>

using namespace ds;  // NOLINT: the tests of one folder

namespace {

StepPhase phase_with(OpAttrs attrs, Phase phase, StreamId stream = StreamId::compute,
                     Tier target = Tier::device) {
  Program program;
  const ValueId from = program.add_value({.name = "from"});
  const ValueId to = program.add_value({.name = "to", .tier = target});
  const Op op{.attrs = std::move(attrs),
              .path = "op",
              .in = {from},
              .out = {kNoValue, to},
              .phase = phase,
              .stream = stream};
  return phase_of(program, op);
}

}  // namespace

TEST_CASE("ops of a model count for their pass, and those of the step for what they do") {
  CHECK(phase_with(ops::Linear{}, Phase::forward) == StepPhase::forward);
  CHECK(phase_with(ops::Linear{}, Phase::backward) == StepPhase::backward);  // computed again
  CHECK(phase_with(ops::Add{}, Phase::backward) == StepPhase::backward);
  CHECK(phase_with(ops::Add{}, Phase::step) == StepPhase::reduce);
  CHECK(phase_with(ops::Exchange{}, Phase::step) == StepPhase::reduce);
  CHECK(phase_with(ops::AllGather{}, Phase::step) == StepPhase::gather);
  CHECK(phase_with(ops::LeafSquares{}, Phase::step) == StepPhase::update);
  CHECK(phase_with(ops::Update{}, Phase::step) == StepPhase::update);
  CHECK(phase_with(ops::Control{}, Phase::step) == StepPhase::control);
}

TEST_CASE("copies to another tier are offload, wherever they run") {
  CHECK(phase_with(ops::Copy{}, Phase::forward) == StepPhase::forward);
  CHECK(phase_with(ops::Copy{}, Phase::forward, StreamId::compute, Tier::host) ==
        StepPhase::offload);
  CHECK(phase_with(ops::Copy{}, Phase::step, StreamId::evict) == StepPhase::offload);
}

TEST_CASE("ops beside the compute stream count for what that stream does") {
  CHECK(phase_with(ops::LeafSquares{}, Phase::step, StreamId::reduce) == StepPhase::reduce);
  CHECK(phase_with(ops::Update{}, Phase::step, StreamId::host) == StepPhase::update);
  CHECK(phase_with(ops::Copy{}, Phase::step, StreamId::read) == StepPhase::offload);
  CHECK(phase_with(ops::Clear{}, Phase::step) == StepPhase::backward);
}
