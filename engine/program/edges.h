// edges_of(): which op waits for which op of another stream. Any two ops that touch the same bytes,
// one of them writing, are ordered. Pure.
#pragma once

#include <span>
#include <vector>

#include "engine/program/find_race.h"
#include "engine/program/program.h"

namespace ds {

/// Memories beside the tiers: the step's decision (Decision), and the kernels' shared scratch.
inline constexpr int kDecision = static_cast<int>(kTiers);
inline constexpr int kScratch = kDecision + 1;
inline constexpr std::size_t kMemories = kTiers + 2;

/// Returns the bytes that an op of a placed program reads and writes. `memory` is the tier,
/// kDecision or kScratch.
std::vector<Access> accesses_of(const Program& program, const Op& op,
                                std::span<const std::int64_t> offsets);

/// By op: the earlier ops of other streams that it waits for, without those implied by other waits.
struct Edges {
  std::vector<std::vector<int>> waits;
  std::vector<bool> is_awaited;  // by op
};
Edges edges_of(const Program& program, std::span<const std::int64_t> offsets);

}  // namespace ds
