// Stretches of a program that an accelerator can record once and issue again as a whole. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/program/edges.h"
#include "engine/program/program.h"

namespace ds {

/// Ops [first, last) of the compute stream: nothing in them waits for another stream, none of them
/// but the last is awaited by one, and all do the same in every step with the same loss scale.
struct Segment {
  std::size_t first = 0, last = 0;
};

/// In the order of the list; shorter stretches than a few ops are left out.
std::vector<Segment> segments_of(const Program& program, const Edges& edges);

/// Whether issuing op by op would take longer than the device needs for the ops: on average they
/// make few bytes.
bool recording_pays(const Program& program);

}  // namespace ds
