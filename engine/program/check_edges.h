// The proof that a placed program's edges are enough, made apart from the code that found them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "engine/program/edges.h"

namespace ds {

/// What the ops do to memory and the waits between them, as find_race() wants it. Beside the bytes
/// of values: the losses that the control op reads, the step's decision, which it writes and
/// optimizer ops read, and the kernels' one scratch.
std::vector<ScheduledOp> schedule_of(const Program& program, std::span<const std::int64_t> offsets,
                                     const Edges& edges);

/// "a and b both use ...": the first two ops that nothing orders; nothing when every two that touch
/// the same bytes, one of them writing, are ordered. Takes a few milliseconds for 10,000 ops.
std::optional<std::string> missing_edge(const Program& program,
                                        std::span<const std::int64_t> offsets, const Edges& edges);

}  // namespace ds
