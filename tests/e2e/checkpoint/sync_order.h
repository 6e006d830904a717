// Checks the order of syncs and renames, since kill -9 keeps the page cache but a power failure
// does not: what a name promises must be on disk before the name is given. Pure.
#pragma once

#include <string>
#include <vector>

#include "e2e/checkpoint/trial.h"

namespace ds::test {

/// Returns violations: a checkpoint that got its name before its files or the names in its folder
/// were synced, and a checkpoint that was removed before such a rename, or before its own, was
/// synced.
std::vector<std::string> order_violations(const std::vector<FileNote>& notes);

}  // namespace ds::test
