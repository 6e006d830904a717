// One cell of the equality matrix: a whole training run, ranks as threads of this process.
#pragma once

#include <string>

#include "e2e/equality/parts.h"

namespace ds::test {

inline constexpr int kEqualitySteps = 20, kVirtualRanks = 4;

/// Where cells are trained, and for how long. accelerator: on the plugin's device, one rank;
/// fused_epilogues: with device.epilogues = fused.
struct Place {
  bool accelerator = false, fused_epilogues = false;
  int steps = kEqualitySteps;
};

/// Writes the text and the train.toml that all cells share into `folder`.
void write_job(const std::string& folder);

/// The hash of the weights after the last step of the last part. Each part has ranks of its own,
/// which know nothing but the saves. Errors: Error of the first rank that failed; a setting that is
/// not built is one.
std::string train_parts(const std::string& folder, const Parts& parts, const Place& place);

}  // namespace ds::test
