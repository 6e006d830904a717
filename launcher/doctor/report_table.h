// Table of the doctor's report: one line per node, or one per group of equal nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"

namespace ds::launcher::doctor {

/// Maximum number of nodes that get one line each.
inline constexpr std::size_t kMostSingleLines = 16;

/// Formats the table. A '*' marks values with findings. With more than kMostSingleLines nodes,
/// those with the same state, marks and values share a line; differing amounts are shown as
/// `least..most`.
std::string table_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

}  // namespace ds::launcher::doctor
