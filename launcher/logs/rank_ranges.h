// Formats rank numbers as ranges: 0-3,7. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ds::launcher {

/// Returns "0-2,7" for {0, 1, 2, 7}; `sorted` is ascending and has each number once.
inline std::string rank_ranges(std::span<const int> sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[i]);
    if (last > i) text += '-' + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace ds::launcher
