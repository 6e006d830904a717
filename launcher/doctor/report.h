// Report of the doctor: table, JSON, and a hostfile of the good nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {

/// Maximum number of nodes that get one line each.
inline constexpr std::size_t kMostSingleLines = 16;

/// Formats the table. A '*' marks values with findings. With more than kMostSingleLines nodes,
/// those with the same state, marks and values share a line; differing amounts are shown as
/// `least..most`.
std::string table_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Returns the table: facts common to all nodes, one line per node, errors and warnings with folded
/// node names, and the number of good nodes.
std::string report_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Returns {"nodes": [{"name", "state", "errors", "warnings", "facts", ...}], "warnings": [...],
/// "good": N}.
std::string report_json(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Returns hostfile lines for the hosts at `indices`.
std::string hostfile_text(const std::vector<Host>& hosts, const std::vector<int>& indices);

}  // namespace ds::launcher::doctor
