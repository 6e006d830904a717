// Names of hosts -> one short expression with brackets, for people to read: `node[01-03,07]`. Pure.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher {

/// The names as host expressions, joined by commas. Each number in a name may become a bracket;
/// `rack[0-1]n[1-4]` stands for all eight. Names with a ':' (IPv6) are left as they are.
/// Order:   texts in the order in which they first come, numbers in rising order; a name given
///          twice comes out once.
/// Promise: expand_host_ranges of each expression gives exactly these names.
std::string fold_names(const std::vector<std::string>& names);

}  // namespace ds::launcher
