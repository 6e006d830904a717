// Reports and findings -> the table for people, JSON, and a hostfile of the good nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/doctor/checks.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher::doctor {

/// What all nodes have in common, a line for each node, errors and warnings with nodes folded, and
/// the sum.
std::string report_text(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// {"nodes": [{"name", "state", "errors", "warnings", "facts", ...}], "warnings": [...], "good":
/// N}.
std::string report_json(const std::vector<NodeReport>& nodes, const std::vector<Finding>& findings);

/// Lines that a hostfile may have for the hosts at `indices`.
std::string hostfile_text(const std::vector<Host>& hosts, const std::vector<int>& indices);

}  // namespace ds::launcher::doctor
