// Edit distance with transpositions (optimal string alignment) on short words.
#include "engine/base/nearest_word.h"

#include <algorithm>
#include <vector>

namespace ds {
namespace {

constexpr std::size_t kLongestWord =
    64;  // Longer words are not typing mistakes; the limit bounds the cost.

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t edits(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<std::size_t> before(columns);
  std::vector<std::size_t> last(columns);
  std::vector<std::size_t> row(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_word(std::string_view typed, std::span<const std::string_view> known) {
  if (typed.empty() || typed.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_edits = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string_view word : known) {
    const std::size_t distance = edits(typed, word);
    if (distance < best_edits) {
      best = word;
      best_edits = distance;
    }
  }
  return std::string(best);
}

}  // namespace ds
