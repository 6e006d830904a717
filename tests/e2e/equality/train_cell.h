// Trains one cell of the equality matrix: a whole run with ranks as threads of this process.
#pragma once

#include <string>

#include "e2e/equality/parts.h"

namespace ds::test {

inline constexpr int kEqualitySteps = 20, kVirtualRanks = 4;

/// Where and how long cells are trained. accelerator: on the plugin's device with one rank;
/// fused_epilogues: with device.epilogues = fused.
struct Place {
  bool accelerator = false, fused_epilogues = false;
  int steps = kEqualitySteps;
};

/// Writes the text and the train.toml of all cells into `folder`.
void write_job(const std::string& folder);

/// Returns the hash of the weights after the last step of the last part. The ranks of each part
/// know nothing but the saves. Errors: the Error of the first rank that failed, for example about a
/// setting that is not implemented.
std::string train_parts(const std::string& folder, const Parts& parts, const Place& place);

}  // namespace ds::test
