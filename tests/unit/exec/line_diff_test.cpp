// Tests of line_diff: applying a diff gives the other text; known cases look as `diff -u` prints
// them.
#include <doctest/doctest.h>

#include <charconv>
#include <random>

#include "launcher/exec/folded_text.h"

namespace {

using ds::launcher::exec::line_diff;
using Lines = std::vector<std::string_view>;

Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// What the hunks make of `from`; checks that they fit, and counts changed lines.
Lines apply(const Lines& from, const std::string& diff, int& changes) {
  Lines result;
  std::size_t done = 0;
  changes = 0;
  for (const std::string_view line : split(diff)) {
    const std::string_view rest = line.substr(1);
    if (line.front() == '@') {
      std::size_t begin = 0;
      std::size_t count = 1;
      const std::size_t comma = line.find(',');
      const std::size_t plus = line.find(" +");
      std::from_chars(line.data() + 4, line.data() + plus, begin);
      if (comma < plus) std::from_chars(line.data() + comma + 1, line.data() + plus, count);
      if (count > 0) --begin;
      while (done < begin) result.push_back(from.at(done++));
    } else if (line.front() == '+') {
      result.push_back(rest);
      ++changes;
    } else {
      REQUIRE(from.at(done) == rest);
      ++done;
      if (line.front() == ' ') result.push_back(rest);
      if (line.front() == '-') ++changes;
    }
  }
  while (done < from.size()) result.push_back(from[done++]);
  return result;
}

/// The fewest changed lines there can be, by the textbook table.
int fewest_changes(const Lines& a, const Lines& b) {
  std::vector<std::vector<int>> best(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j)
      best[i][j] = i == 0                 ? int(j)
                   : j == 0               ? int(i)
                   : a[i - 1] == b[j - 1] ? best[i - 1][j - 1]
                                          : 1 + std::min(best[i - 1][j], best[i][j - 1]);
  return best[a.size()][b.size()];
}

}  // namespace

TEST_CASE("differences look as diff -u shows them") {
  const Lines base = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  CHECK(line_diff(base, base).empty());
  CHECK(line_diff(Lines{}, Lines{"x"}) == "@@ -0,0 +1 @@\n+x\n");
  CHECK(line_diff(Lines{"x", "y"}, Lines{}) == "@@ -1,2 +0,0 @@\n-x\n-y\n");
  CHECK(line_diff(Lines{"kernel 6.1", "ok"}, Lines{"kernel 5.10", "ok"}) ==
        "@@ -1,2 +1,2 @@\n-kernel 6.1\n+kernel 5.10\n ok\n");
  const Lines ends = {"A", "b", "c", "d", "e", "f", "g", "h", "i", "J"};
  CHECK(line_diff(base, ends) ==
        "@@ -1,4 +1,4 @@\n-a\n+A\n b\n c\n d\n@@ -7,4 +7,4 @@\n g\n h\n i\n-j\n+J\n");
}

TEST_CASE("a diff applied gives the other text, with the fewest changes") {
  std::mt19937 random(3);
  const Lines words = {"a", "b", "c", "d"};
  for (int round = 0; round < 2000; ++round) {
    Lines from, to;
    for (auto i = random() % 14; i > 0; --i) from.push_back(words[random() % 4]);
    for (auto i = random() % 14; i > 0; --i) to.push_back(words[random() % 4]);
    const std::string diff = line_diff(from, to, int(random() % 4));
    CAPTURE(diff);
    int changes = 0;
    CHECK(apply(from, diff, changes) == to);
    CHECK(changes == fewest_changes(from, to));
  }
}

TEST_CASE("texts with nothing in common are replaced as a whole") {
  std::vector<std::string> texts;
  for (int i = 0; i < 6000; ++i) texts.push_back(std::to_string(i));
  const Lines from(texts.begin(), texts.begin() + 3000);
  const Lines to(texts.begin() + 3000, texts.end());
  int changes = 0;
  CHECK(apply(from, line_diff(from, to), changes) == to);
  CHECK(changes == 6000);
}
