// Prints the outputs of many nodes: equal outputs once, or only their differences. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/output_tree.h"

namespace ds::launcher::exec {

/// Receives the text in pieces.
using PutText = std::function<void(std::string_view)>;

/// Prints each group below a header with its nodes. Control bytes but tab and newline become '?'.
void print_folded(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                  const PutText& put);

/// Prints the first group as print_folded() does, and the other groups as differences from it.
/// Prints nothing if no node wrote anything.
void print_diff(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                const PutText& put);

}  // namespace ds::launcher::exec
