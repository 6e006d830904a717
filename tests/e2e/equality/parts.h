// A run in parts: each ends with a save, and the next one goes on from it in its own way.
#pragma once

#include <string>
#include <vector>

#include "e2e/equality/cells.h"

namespace ds::test {

struct Part {
  Cell cell;
  int last = 0;  // finished steps of the save at its end, or of the whole run
  int lost = 0;  // saved beside the training, this many steps of which are then lost; 0: training
                 // waits for the save
};
using Parts = std::vector<Part>;

/// Two to four parts of `steps` steps by chance, one of which is as `cell`; the others differ from
/// it in what must not change a bit. The same for the same seed.
Parts parts_of(const Cell& cell, unsigned seed, int steps);

/// "7+2,12,20": where parts end, and the steps that are lost there.
std::string ends_of(const Parts& parts);

}  // namespace ds::test
