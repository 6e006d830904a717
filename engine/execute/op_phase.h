// phase_of(): the phase of a step that an op's time counts for. Pure.
#pragma once

#include "engine/base/step_phases.h"
#include "engine/program/program.h"

namespace ds {

StepPhase phase_of(const Program& program, const Op& op);
/// Returns the phase of the work that a stream does beside the compute stream.
StepPhase phase_of(StreamId stream);

}  // namespace ds
