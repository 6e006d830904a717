// The table of a report: a line for each node, or one for all that are alike. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"

namespace ds::launcher::doctor {

/// Up to so many nodes have a line each.
inline constexpr std::size_t kMostSingleLines = 16;

/// What findings are about is marked with '*'. Of more than kMostSingleLines nodes those with the
/// same state, marks and values share a line; amounts that differ stand there as `least..most`.
std::string table_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

}  // namespace ds::launcher::doctor
