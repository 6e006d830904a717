// Short texts about several things: folded names, ranges of numbers, counts with a noun. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Returns the names as host expressions, joined by commas. Each number in a name may become a
/// bracket; `rack[0-1]n[1-4]` stands for eight names. Names with a ':' (IPv6) stay unchanged.
/// Order:   texts in the order of their first names, numbers ascending; a repeated name comes once.
/// Promise: expand_host_ranges of each expression gives exactly these names.
std::string fold_names(const std::vector<std::string>& names);

/// Returns the folded names with the form of a verb for one or several: "n1 joins", "n[1-2] join".
std::string names_with(const std::vector<std::string>& names, std::string_view one,
                       std::string_view several);

/// Returns "0-2,7" for {0, 1, 2, 7}; `sorted` is ascending and has each number once.
std::string rank_ranges(std::span<const int> sorted);

}  // namespace ds::launcher
