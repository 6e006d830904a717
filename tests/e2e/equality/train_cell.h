// Trains one cell of the equality matrix: a whole run with ranks as threads of this process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "e2e/equality/histories.h"
#include "e2e/equality/parts.h"

namespace ds::test {

inline constexpr int kEqualitySteps = 20, kVirtualRanks = 4;

/// Where and how long cells are trained. accelerator: on the plugin's device with one rank;
/// fused_epilogues: with device.epilogues = fused.
struct Place {
  bool accelerator = false, fused_epilogues = false;
  int steps = kEqualitySteps;
  int virtual_ranks = kMostRanks;  // of elastic runs
};

/// Writes the text and the train.toml of all cells into `folder`.
void write_job(const std::string& folder);

/// Returns the hash of the weights after the last step of the last part. The ranks of each part
/// know nothing but the saves. Errors: the Error of the first rank that failed, for example about a
/// setting that is not implemented.
std::string train_parts(const std::string& folder, const Parts& parts, const Place& place);

/// What a run computed: the weights, and loss and gradient norm of each step.
struct Trained {
  std::string hash{};
  std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> figures{};  // bits, by step
  int from_memory = 0;  // memberships that began from memory
  int redone = 0;       // steps that ran again
  friend bool operator==(const Trained&, const Trained&) = default;
};

/// Trains through the memberships of a history. States survive only in the memory of nodes that
/// stay. Errors: as train_parts(); Error{bug} if a step that ran again had another loss or norm.
Trained train_history(const std::string& folder, const History& history, const Place& place);

}  // namespace ds::test
