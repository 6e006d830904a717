// Rank numbers as people write them: 0-3,7. Pure.
#pragma once

#include <span>
#include <string>

namespace ds::launcher {

/// `sorted` ascending, each number once: {0, 1, 2, 7} -> "0-2,7".
std::string rank_ranges(std::span<const int> sorted);

}  // namespace ds::launcher
