// Draws random parts.
#include "e2e/equality/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

namespace ds::test {

Parts parts_of(const Cell& cell, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::set<int> ends{steps};
  const int count = std::min(steps, 2 + static_cast<int>(random() % 3));
  while (static_cast<int>(ends.size()) < count)
    ends.insert(1 + static_cast<int>(random() % static_cast<unsigned>(steps - 1)));
  Parts parts;
  const auto same = random() % static_cast<unsigned>(count);
  for (const int last : ends) {
    const bool is_given = parts.size() == same;
    const bool is_last = last == steps;
    Part part{.cell = is_given ? cell : changed(cell, random), .last = last};
    // Must be fewer than the save's own steps, else another periodic save would happen.
    if (!is_last && random() % 2 == 0)
      part.lost = std::min(last - 1, 1 + static_cast<int>(random() % 3));
    parts.push_back(part);
  }
  return parts;
}

std::string ends_of(const Parts& parts) {
  std::string text;
  for (const Part& part : parts) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", part.last);
    if (part.lost > 0) text += fmt::format("+{}", part.lost);
  }
  return text;
}

}  // namespace ds::test
