// Folding of host names into short expressions with brackets: `node[01-03,07]`. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// Returns the names as host expressions, joined by commas. Each number in a name may become a
/// bracket; `rack[0-1]n[1-4]` stands for eight names. Names with a ':' (IPv6) stay unchanged.
/// Order:   texts in the order of their first names, numbers ascending; a repeated name comes once.
/// Promise: expand_host_ranges of each expression gives exactly these names.
std::string fold_names(const std::vector<std::string>& names);

}  // namespace ds::launcher
