// The order of host names in pdsh, and their ranges in its listing. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// Sorts the names by the text before their last number, then by that number; each comes once.
void sort_as_pdsh(std::vector<std::string>& names);

/// Returns the names as pdsh -q lists them: `foo[08-10,1-2],bar`, without a change of their order.
std::string pdsh_ranges(const std::vector<std::string>& names);

}  // namespace ds::launcher
