// Tests of folded names: expanding them gives the same names.
#include "launcher/hosts/fold_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "launcher/hosts/host_ranges.h"

namespace {

using namespace ds::launcher;
using Names = std::vector<std::string>;

/// Expands expressions joined by commas.
Names expand(const std::string& folded) {
  Names names;
  std::string word;
  int depth = 0;
  for (const char letter : folded + ",") {
    if (letter == '[') ++depth;
    if (letter == ']') --depth;
    if (letter != ',' || depth > 0) {
      word += letter;
      continue;
    }
    const auto expanded = expand_host_ranges(word);
    REQUIRE(std::holds_alternative<Names>(expanded));
    const auto& some = std::get<Names>(expanded);
    names.insert(names.end(), some.begin(), some.end());
    word.clear();
  }
  return names;
}

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("names are folded as people write them") {
  CHECK(fold_names({}).empty());
  CHECK(fold_names({"login"}) == "login");
  CHECK(fold_names({"node01", "node02", "node03", "node07"}) == "node[01-03,07]");
  CHECK(fold_names({"n3", "n1", "n2", "n1"}) == "n[1-3]");
  CHECK(fold_names({"n8", "n9", "n10"}) == "n[8-10]");
  CHECK(fold_names({"n08", "n09", "n10"}) == "n[08-10]");
  CHECK(fold_names({"n1", "n01"}) == "n[1,01]");
  CHECK(fold_names({"n9", "n10", "n01"}) == "n[9,01,10]");
  CHECK(fold_names({"b1", "a1", "b2"}) == "b[1-2],a1");
  CHECK(fold_names({"n1-ib0", "n2-ib0"}) == "n[1-2]-ib0");
  CHECK(fold_names({"10.0.0.9", "10.0.0.10"}) == "10.0.0.[9-10]");
  CHECK(fold_names({"r0n0", "r0n1", "r1n0", "r1n1", "r2n0"}) == "r[0-1]n[0-1],r2n0");
  CHECK(fold_names({"fe80::1", "fe80::2"}) == "fe80::1,fe80::2");
  CHECK(fold_names({"1", "2"}) == "[1-2]");
  CHECK(fold_names({"x12345678901234567890", "x2"}) == "x12345678901234567890,x2");
}

TEST_CASE("a cluster of a thousand names is one short expression") {
  Names names;
  for (int rack = 0; rack < 20; ++rack)
    for (int node = 1; node <= 50; ++node)
      names.push_back("r" + std::to_string(rack) + "-n" + std::to_string(100 + node));
  CHECK(fold_names(names) == "r[0-19]-n[101-150]");
}

TEST_CASE("expanding what was folded gives each name once") {
  std::mt19937 random(7);
  const auto pick = [&](int count) { return static_cast<int>(random() % unsigned(count)); };
  const Names texts = {"n", "node", "", "-ib", "a.b", "x9y"};
  for (int round = 0; round < 3000; ++round) {
    Names names;
    const int count = 1 + pick(12);
    for (int i = 0; i < count; ++i) {
      std::string name = "h" + texts[std::size_t(pick(6))];
      for (int places = pick(4); places > 0; --places) {
        const int width = pick(4);
        std::string number = std::to_string(pick(pick(2) == 0 ? 4 : 120));
        while (int(number.size()) < width) number.insert(0, "0");
        name += number + texts[std::size_t(pick(6))];
      }
      names.push_back(name);
    }
    const std::string folded = fold_names(names);
    CAPTURE(folded);
    const std::set<std::string> each(names.begin(), names.end());
    CHECK(sorted(expand(folded)) == Names(each.begin(), each.end()));
  }
}
