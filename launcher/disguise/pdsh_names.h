// Host names in pdsh: ranges, their order, and their ranges in its listing. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Returns the names of an expression such as foo[0-3]-eth0; `origin` is the option or file with
/// it, and `program` the launcher, for messages. Errors:  Error{usage}.
std::vector<std::string> pdsh_expanded(std::string_view expression, std::string_view origin,
                                       std::string_view program);

/// Sorts the names by the text before their last number, then by that number; each comes once.
void sort_as_pdsh(std::vector<std::string>& names);

/// Returns the names as pdsh -q lists them: `foo[08-10,1-2],bar`, without a change of their order.
std::string pdsh_ranges(const std::vector<std::string>& names);

}  // namespace ds::launcher
