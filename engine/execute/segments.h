// Segments: stretches of a program that an accelerator can record once and issue again as a whole.
// Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/program/edges.h"
#include "engine/program/program.h"

namespace ds {

/// Ops [first, last) of the compute stream. None of them waits for another stream, only the last
/// one is awaited by another stream, and all do the same in every step with the same loss scale.
struct Segment {
  std::size_t first = 0, last = 0;
};

/// Returns the segments in the order of the list; stretches of a few ops are left out.
std::vector<Segment> segments_of(const Program& program, const Edges& edges);

/// Returns whether issuing op by op would take longer than the device needs for the ops: on average
/// they write few bytes.
bool recording_pays(const Program& program);

}  // namespace ds
