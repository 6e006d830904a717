// Kill -9 leaves what is in the page cache; a power cut does not. So the order of calls is checked:
// what a name promises was brought to the disk before the name was given. Pure.
#pragma once

#include <string>
#include <vector>

#include "e2e/checkpoint/trial.h"

namespace ds::test {

/// What was renamed to a checkpoint before its files, or the names in its folder, were synced; and
/// what was taken away before that rename, or its own to another name, was.
std::vector<std::string> order_violations(const std::vector<FileNote>& notes);

}  // namespace ds::test
