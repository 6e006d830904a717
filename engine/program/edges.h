// Which op waits for which op of another stream: every two that touch the same bytes, one of them
// writing, are ordered. Pure.
#pragma once

#include <span>
#include <vector>

#include "engine/program/find_race.h"
#include "engine/program/program.h"

namespace ds {

/// The step's decision, which control writes and updates read, as a memory beside the tiers.
inline constexpr int kDecision = static_cast<int>(kTiers);

/// The bytes that an op reads and writes, once placed. `memory` is the tier, or kDecision.
std::vector<Access> accesses_of(const Program& program, const Op& op,
                                std::span<const std::int64_t> offsets);

/// By op: the earlier ops of other streams that it waits for; none that follows from others.
struct Edges {
  std::vector<std::vector<int>> waits;
  std::vector<bool> is_awaited;  // by op
};
Edges edges_of(const Program& program, std::span<const std::int64_t> offsets);

}  // namespace ds
