// Formats the line about background processes killed when their command exited. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ds::launcher::exec {

/// Returns one line with the folded node names and the number of processes; empty if no process was
/// killed. `names` and `killed` have one entry per node.
std::string killed_text(const std::vector<std::string>& names,
                        const std::vector<std::uint32_t>& killed);

}  // namespace ds::launcher::exec
