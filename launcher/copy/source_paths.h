// What the sender of a copy finds at its paths: the names that a pattern stands for.
#pragma once

#include <string>
#include <vector>

namespace ds::launcher::copy {

/// Replaces each path by the names that it stands for, as shells do with *, ?, [ab], {a,b} and ~. A
/// path that exists as it is written, and a pattern without a match, stand for themselves.
std::vector<std::string> expand_patterns(const std::vector<std::string>& paths);

}  // namespace ds::launcher::copy
