// Tests every kind of resume that is promised, and writes its table (equality_resume_results.md).
#pragma once

#include <string>

#include "e2e/equality/matrix.h"

namespace ds::test {

/// Runs half of the steps, saves, and runs the other half on other ranks: for every stage, offload,
/// type and order, and between stages, offloads, forms of the master and world sizes. `table`:
/// file, or empty.
void check_resume(Matrix& matrix, const Place& place, const std::string& table);

}  // namespace ds::test
