// Equal outputs of many nodes -> what is printed of them. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/exec/output_tree.h"

namespace ds::launcher::exec {

/// Each group below a line with its nodes. Control bytes other than tabs are shown as '?'.
std::string folded_text(std::span<const OutputGroup> groups, const std::vector<std::string>& names);

/// The first group as above, of the others only what differs from it; nothing if none wrote.
std::string diff_text(std::span<const OutputGroup> groups, const std::vector<std::string>& names);

}  // namespace ds::launcher::exec
