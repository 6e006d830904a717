// Slurm's lists: of nodes, `n[1-3,07]x[0-1],login1`, and of counts, `2(x3),1`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/hosts/host_ranges.h"

namespace ds::launcher {

/// The names of a node list: items of expand_host_ranges, separated by commas or blanks outside of
/// brackets; an empty list has none.
/// Order:   as written. Slurm 22.05 counts through three and more brackets of one item in another
///          order.
/// Errors:  a value, with the byte of the list at which it is wrong; more than kMaxHosts names.
std::variant<std::vector<std::string>, RangeProblem> expand_node_list(std::string_view list);

/// `2(x3),1` -> 2 2 2 1; nothing if it is no such list, or longer than kMaxHosts.
std::optional<std::vector<int>> expand_counts(std::string_view list);

}  // namespace ds::launcher
