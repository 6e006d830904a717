// Names of addresses, looked up side by side.
#pragma once

#include <string>
#include <vector>

#include "engine/base/deadline.h"

namespace ds::launcher::doctor {

/// For each address its name; empty if it has none, is empty, or was not found in time. A lookup
/// that hangs is left behind.
std::vector<std::string> reverse_names(const std::vector<std::string>& addresses,
                                       Deadline deadline);

}  // namespace ds::launcher::doctor
