// Finds the edits between two outputs with Myers' algorithm, and prints outputs and differences.
#include "launcher/exec/folded_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "launcher/hosts/fold_names.h"

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

// The rule that clush and dshbak print.
constexpr std::string_view kRule = "---------------\n";
constexpr std::string_view kCut = "(the rest of this output was too long and is not kept)\n";
constexpr std::size_t kPiece = std::size_t{64} << 10;

void put_printable(std::string_view bytes, const PutText& put) {
  std::string piece;
  while (!bytes.empty()) {
    piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    for (char& letter : piece) {
      const auto byte = static_cast<unsigned char>(letter);
      const bool harmless = (byte >= 0x20 && byte != 0x7f) || letter == '\t' || letter == '\n';
      if (!harmless) letter = '?';
    }
    put(piece);
  }
}

std::string nodes_text(const OutputGroup& group, const std::vector<std::string>& names) {
  std::vector<std::string> some;
  for (const int node : group.nodes) some.push_back(names.at(static_cast<std::size_t>(node)));
  const std::string folded = fold_names(some);
  return some.size() == 1 ? folded : fmt::format("{} ({})", folded, some.size());
}

void print_group(const OutputGroup& group, const std::vector<std::string>& names,
                 const PutText& put) {
  put(fmt::format("{0}{1}\n{0}", kRule, nodes_text(group, names)));
  for (const std::string_view part : group.parts) put_printable(part, put);
  if (group.cut) put(kCut);
}

/// Returns the lines of the output without their newlines.
std::vector<std::string_view> lines_of(const OutputGroup& group) {
  std::vector<std::string_view> lines;
  for (std::string_view part : group.parts) {
    while (!part.empty()) {
      const std::size_t newline = part.find('\n');
      lines.push_back(part.substr(0, newline));
      part.remove_prefix(newline + 1);
    }
  }
  return lines;
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

void print_folded(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                  const PutText& put) {
  for (const OutputGroup& group : groups) print_group(group, names, put);
}

void print_diff(std::span<const OutputGroup> groups, const std::vector<std::string>& names,
                const PutText& put) {
  if (groups.empty()) return;
  const OutputGroup& most = groups.front();
  if (groups.size() == 1 && most.parts.empty() && !most.cut) return;
  print_group(most, names, put);
  if (groups.size() == 1) return;
  const std::vector<std::string_view> common = lines_of(most);
  for (const OutputGroup& group : groups.subspan(1)) {
    put(fmt::format("--- {}\n+++ {}\n", nodes_text(most, names), nodes_text(group, names)));
    put_printable(line_diff(common, lines_of(group)), put);
    if (group.cut) put(kCut);
  }
}

}  // namespace ds::launcher::exec
