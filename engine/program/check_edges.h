// missing_edge(): proves that a placed program's edges suffice, independently of the code that
// found them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/program/edges.h"

namespace ds {

/// Returns what the ops do to memory and the waits between them, in the form that find_race()
/// takes. Besides the bytes of values this covers the losses that the control op reads, the step's
/// decision (written by the control op, read by optimizer ops), and the kernels' shared scratch.
std::vector<ScheduledOp> schedule_of(const Program& program, std::span<const std::int64_t> offsets,
                                     const Edges& edges);

/// Returns the first two ops that touch the same bytes, one of them writing, without an order
/// between them, as a message. Returns nothing when all such pairs are ordered. Takes a few
/// milliseconds for 10,000 ops.
std::optional<std::string> missing_edge(const Program& program,
                                        std::span<const std::int64_t> offsets, const Edges& edges);

}  // namespace ds
