// Parsers for Slurm's lists: nodes, `n[1-3,07]x[0-1],login1`, and counts, `2(x3),1`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/hosts/host_ranges.h"

namespace ds::launcher {

/// Returns the names of a node list. The items are those of expand_host_ranges, separated by commas
/// or blanks outside brackets; an empty list has no names. Order:   as written. Slurm 22.05 has
/// another order for items with three or more brackets. Errors:  a RangeProblem with its byte in
/// the list; more than kMaxHosts names.
std::variant<std::vector<std::string>, RangeProblem> expand_node_list(std::string_view list);

/// Expands `2(x3),1` to 2 2 2 1. Returns nothing for other text or more than kMaxHosts counts.
std::optional<std::vector<int>> expand_counts(std::string_view list);

}  // namespace ds::launcher
