// Report of the doctor: table, JSON, and a hostfile of the good nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {

/// Returns the table: facts common to all nodes, one line per node, errors and warnings with folded
/// node names, and the number of good nodes.
std::string report_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Returns {"nodes": [{"name", "state", "errors", "warnings", "facts", ...}], "warnings": [...],
/// "good": N}.
std::string report_json(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Returns hostfile lines for the hosts at `indices`.
std::string hostfile_text(const std::vector<Host>& hosts, const std::vector<int>& indices);

}  // namespace ds::launcher::doctor
