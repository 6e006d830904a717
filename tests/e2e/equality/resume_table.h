// Resuming in every way that was promised, and its table (equality_resume_results.md).
#pragma once

#include <string>

#include "e2e/equality/matrix.h"

namespace ds::test {

/// Half of the steps, a save, other ranks, the other half: for every stage, offload, type and
/// order; between stages, offloads, forms of the master and world sizes. `table`: file, or empty.
void check_resume(Matrix& matrix, const Place& place, const std::string& table);

}  // namespace ds::test
