// A run in parts: each part ends with a save, and the next resumes from it with other settings.
#pragma once

#include <string>
#include <vector>

#include "e2e/equality/cells.h"

namespace ds::test {

struct Part {
  Cell cell;
  int last = 0;  // finished steps at the save that ends it, or at the end of the run
  int lost = 0;  // steps lost after an asynchronous save; 0: training
                 // waits for the save
};
using Parts = std::vector<Part>;

/// Draws two to four parts of `steps` steps. One part is as `cell`; the others differ from it in
/// settings that must not change a bit. The same seed gives the same parts.
Parts parts_of(const Cell& cell, unsigned seed, int steps);

/// Returns "7+2,12,20": the ends of the parts and the steps lost there.
std::string ends_of(const Parts& parts);

}  // namespace ds::test
