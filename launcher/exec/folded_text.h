// Prints the outputs of many nodes: equal outputs once, or only their differences. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/exec/output_tree.h"

namespace ds::launcher::exec {

/// Returns the hunks (`@@ -1,3 +1,4 @@` and lines that begin with ' ', '-' or '+') that turn `from`
/// into `to`, with `context` equal lines around each; empty if the texts are equal. The script is
/// the shortest one unless that needs more than 2,000 changed lines. In that case everything
/// between the first and the last difference is replaced.
/// Source:  Myers, An O(ND) difference algorithm, 1986.
std::string line_diff(std::span<const std::string_view> from, std::span<const std::string_view> to,
                      int context = 3);

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
