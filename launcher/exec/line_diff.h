// Compares two texts and prints the differences as `diff -u` does. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher::exec {

/// Returns the hunks (`@@ -1,3 +1,4 @@` and lines that begin with ' ', '-' or '+') that turn `from`
/// into `to`, with `context` equal lines around each; empty if the texts are equal. The script is
/// the shortest one unless that needs more than 2,000 changed lines. In that case everything
/// between the first and the last difference is replaced.
/// Source:  Myers, An O(ND) difference algorithm, 1986.
std::string line_diff(std::span<const std::string_view> from, std::span<const std::string_view> to,
                      int context = 3);

}  // namespace ds::launcher::exec
