// Removes equal ends, finds the edits between them with Myers' algorithm, and joins close edits to
// hunks.
#include "launcher/exec/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ds::launcher::exec {
namespace {

using Lines = std::span<const std::string_view>;
constexpr int kMostEdits = 2000;

/// Replaces from[from_begin, from_end) with to[to_begin, to_end).
struct Edit {
  int from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};

int size_of(Lines lines) { return static_cast<int>(lines.size()); }
std::string_view at(Lines lines, int index) { return lines[static_cast<std::size_t>(index)]; }

/// Position in `from` that each diagonal (x - y) reaches after a number of edits, for the diagonals
/// -edits to edits.
class Front {
 public:
  explicit Front(int edits) : edits_(edits), x_(2 * static_cast<std::size_t>(edits) + 1) {}
  int& operator[](int diagonal) { return x_[static_cast<std::size_t>(diagonal + edits_)]; }
  int operator[](int diagonal) const { return x_[static_cast<std::size_t>(diagonal + edits_)]; }
  /// Returns whether the next edit, onto `diagonal`, inserts a line of `to`; otherwise it deletes a
  /// line of `from`.
  [[nodiscard]] bool next_goes_down(int diagonal) const {
    if (diagonal == -edits_ - 1) return true;
    return diagonal != edits_ + 1 && (*this)[diagonal - 1] < (*this)[diagonal + 1];
  }

 private:
  int edits_;
  std::vector<int> x_;
};

int slide(Lines from, Lines to, int x, int diagonal) {
  while (x < size_of(from) && x - diagonal < size_of(to) && at(from, x) == at(to, x - diagonal))
    ++x;
  return x;
}

/// Returns one front per number of edits until the ends are reached; empty if that takes more than
/// kMostEdits.
std::vector<Front> search(Lines from, Lines to) {
  const int goal = size_of(from) - size_of(to);
  std::vector<Front> fronts;
  for (int edits = 0; edits <= kMostEdits; ++edits) {
    Front front(edits);
    for (int k = -edits; k <= edits; k += 2) {
      int x = 0;
      if (edits > 0) {
        const Front& before = fronts.back();
        x = before.next_goes_down(k) ? before[k + 1] : before[k - 1] + 1;
      }
      front[k] = slide(from, to, x, k);
    }
    const bool reached =
        std::abs(goal) <= edits && (goal - edits) % 2 == 0 && front[goal] >= size_of(from);
    fronts.push_back(std::move(front));
    if (reached) return fronts;
  }
  return {};
}

std::vector<Edit> walk_back(const std::vector<Front>& fronts, int x, int y) {
  std::vector<Edit> edits;  // last one first
  for (std::size_t step = fronts.size(); step-- > 1;) {
    const Front& before = fronts[step - 1];
    const bool down = before.next_goes_down(x - y);
    const int diagonal = down ? x - y + 1 : x - y - 1;
    x = before[diagonal];
    y = x - diagonal;
    const Edit edit{x, down ? x : x + 1, y, down ? y + 1 : y};
    const bool touches = !edits.empty() && edits.back().from_begin == edit.from_end &&
                         edits.back().to_begin == edit.to_end;
    if (touches) {
      edits.back().from_begin = edit.from_begin;
      edits.back().to_begin = edit.to_begin;
    } else {
      edits.push_back(edit);
    }
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

std::vector<Edit> edits_between(Lines from, Lines to) {
  int head = 0;
  while (head < std::min(size_of(from), size_of(to)) && at(from, head) == at(to, head)) ++head;
  int tail = 0;
  while (tail < std::min(size_of(from), size_of(to)) - head &&
         at(from, size_of(from) - 1 - tail) == at(to, size_of(to) - 1 - tail))
    ++tail;
  const auto middle = [&](Lines lines) {
    return lines.subspan(static_cast<std::size_t>(head),
                         lines.size() - static_cast<std::size_t>(head + tail));
  };
  const Lines from_middle = middle(from);
  const Lines to_middle = middle(to);
  if (from_middle.empty() && to_middle.empty()) return {};
  std::vector<Edit> edits;
  if (const std::vector<Front> fronts = search(from_middle, to_middle); !fronts.empty())
    edits = walk_back(fronts, size_of(from_middle), size_of(to_middle));
  else
    edits.push_back({0, size_of(from_middle), 0, size_of(to_middle)});
  for (Edit& edit : edits)
    for (int* place : {&edit.from_begin, &edit.from_end, &edit.to_begin, &edit.to_end})
      *place += head;
  return edits;
}

/// Returns a range as `diff -u` prints it, "3,4". Lines count from 1; an empty range is given by
/// the line before it.
std::string range_text(int begin, int end) {
  if (end - begin == 1) return std::to_string(end);
  return fmt::format("{},{}", begin == end ? begin : begin + 1, end - begin);
}

void append_lines(std::string& text, char mark, Lines lines, int begin, int end) {
  for (int i = begin; i < end; ++i)
    fmt::format_to(std::back_inserter(text), "{}{}\n", mark, at(lines, i));
}

/// Appends `edits` as one hunk, with the equal lines around and between them.
void append_hunk(std::string& text, Lines from, Lines to, std::span<const Edit> edits,
                 int context) {
  const Edit& first = edits.front();
  const Edit& last = edits.back();
  const int before = std::min(context, first.from_begin);
  const int after = std::min(context, size_of(from) - last.from_end);
  fmt::format_to(std::back_inserter(text), "@@ -{} +{} @@\n",
                 range_text(first.from_begin - before, last.from_end + after),
                 range_text(first.to_begin - before, last.to_end + after));
  int done = first.from_begin - before;
  for (const Edit& edit : edits) {
    append_lines(text, ' ', from, done, edit.from_begin);
    append_lines(text, '-', from, edit.from_begin, edit.from_end);
    append_lines(text, '+', to, edit.to_begin, edit.to_end);
    done = edit.from_end;
  }
  append_lines(text, ' ', from, done, last.from_end + after);
}

}  // namespace

std::string line_diff(Lines from, Lines to, int context) {
  const std::vector<Edit> edits = edits_between(from, to);
  std::string text;
  for (std::size_t first = 0; first < edits.size();) {
    std::size_t end = first + 1;
    while (end < edits.size() && edits[end].from_begin - edits[end - 1].from_end <= 2 * context)
      ++end;
    append_hunk(text, from, to, std::span(edits).subspan(first, end - first), context);
    first = end;
  }
  return text;
}

}  // namespace ds::launcher::exec
