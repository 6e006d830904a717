// Reverse DNS lookups of many addresses in parallel.
#pragma once

#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher::doctor {

/// Returns the name of each address; empty if it has none, is empty, or was not found in time. A
/// lookup that hangs is abandoned.
std::vector<std::string> reverse_names(const std::vector<std::string>& addresses,
                                       Deadline deadline);

}  // namespace ds::launcher::doctor
