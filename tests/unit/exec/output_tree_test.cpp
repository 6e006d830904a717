// Tests of OutputTree: equal outputs are one group however they arrived, and are held once.
#include "launcher/exec/output_tree.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

namespace {

using namespace ds::launcher::exec;

std::string text_of(const OutputGroup& group) {
  std::string text;
  for (const int node : group.nodes) text += std::to_string(node) + " ";
  text += group.cut ? "cut:" : ":";
  for (const std::string_view part : group.parts)
    for (const char letter : part) text += letter == '\n' ? '|' : letter;
  return text;
}

std::vector<std::string> texts_of(const OutputTree& tree) {
  std::vector<std::string> texts;
  for (const OutputGroup& group : tree.groups()) texts.push_back(text_of(group));
  return texts;
}

}  // namespace

TEST_CASE("nodes with equal output are one group, the largest first") {
  OutputTree tree(5);
  tree.add(0, 1, "6.1\nok\n");
  tree.add(1, 1, "5.10\nok\n");
  tree.add(2, 1, "6.1\n");
  tree.add(3, 1, "5.10\n");
  tree.add(2, 1, "ok\n");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 2 :6.1|ok|", "1 :5.10|ok|", "3 :5.10|"});
}

TEST_CASE("a last line without newline is a line, and silence is no output") {
  OutputTree tree(3);
  tree.add(0, 1, "a");
  tree.add(1, 1, "a\n");
  tree.add(2, 1, "");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 1 :a|"});
}

TEST_CASE("progress and DOS lines count as they look in the end") {
  OutputTree tree(3);
  tree.add(0, 1, "10%\r50%\r100%\nx\n");
  tree.add(1, 1, "20%\r100%\r\nx\r\n");
  tree.add(2, 1, "100%\nx");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 1 2 :100%|x|"});
}

TEST_CASE("lines of both streams stay whole") {
  OutputTree tree(1);
  tree.add(0, 1, "out ");
  tree.add(0, 2, "err\n");
  tree.add(0, 1, "put\n");
  tree.finish();
  CHECK(texts_of(tree) == std::vector<std::string>{"0 :err|out put|"});
}

TEST_CASE("how the bytes were cut makes no difference") {
  std::mt19937 random(5);
  const std::string texts[] = {"a\nb\n\nc\n", "a\nb\n\nd\n", "a\nb", "\n"};
  for (int round = 0; round < 200; ++round) {
    OutputTree tree(20);
    std::map<unsigned, std::vector<int>> expected;
    for (int node = 0; node < 20; ++node) {
      const unsigned which = random() % 4;
      expected[which].push_back(node);
      std::string_view rest = texts[which];
      while (!rest.empty()) {
        const std::size_t size = 1 + random() % rest.size();
        tree.add(node, 1, rest.substr(0, size));
        rest.remove_prefix(size);
      }
    }
    tree.finish();
    const auto groups = tree.groups();
    CHECK(groups.size() == expected.size());
    for (const OutputGroup& group : groups) {
      bool found = false;
      for (const auto& [which, nodes] : expected) found = found || nodes == group.nodes;
      CHECK(found);
    }
  }
}

TEST_CASE("output that is too long is cut, and marked as cut") {
  OutputTree tree(2, 150);
  for (int i = 0; i < 100; ++i) tree.add(0, 1, "line " + std::to_string(i) + "\n");
  tree.add(1, 1, "line 0\n");
  tree.finish();
  const auto groups = tree.groups();
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].cut);
  CHECK(groups[0].parts.at(0).size() <= 150);
  CHECK(groups[0].parts.at(0).ends_with("line 18\nline 19\n"));
  CHECK(text_of(groups[1]) == "1 :line 0|");
}

TEST_CASE("a line that never ends does not take all memory") {
  OutputTree tree(1, 1000);
  for (int i = 0; i < 100; ++i) tree.add(0, 1, std::string(50, 'x'));
  tree.finish();
  REQUIRE(tree.groups().size() == 1);
  CHECK(tree.groups()[0].cut);
}

TEST_CASE("short lines take little more room than their bytes") {
  constexpr int kLines = 200'000;
  OutputTree tree(3, std::size_t{4} << 20);
  std::size_t given = 0;
  for (int i = 0; i < kLines; ++i) {
    const std::string line = std::to_string(i) + "\n";
    given += line.size();
    for (int node = 0; node < 3; ++node) tree.add(node, 1, line);
  }
  tree.finish();
  REQUIRE(tree.groups().size() == 1);
  CHECK_FALSE(tree.groups()[0].cut);
  CHECK(tree.bytes() <= 2 * given + OutputTree::kTextCost);
}

TEST_CASE("outputs that differ late share what they have in common") {
  OutputTree tree(100);
  std::string common;
  for (int i = 0; i < 1000; ++i) common += "line " + std::to_string(i) + "\n";
  for (int node = 0; node < 100; ++node)
    tree.add(node, 1, common + "node " + std::to_string(node) + "\nend\n");
  tree.finish();
  const auto groups = tree.groups();
  REQUIRE(groups.size() == 100);
  CHECK(groups[7].parts.size() == 2);
  CHECK(groups[7].parts.back() == "node 7\nend\n");
  CHECK(tree.bytes() <= 2 * common.size() + 100 * (OutputTree::kTextCost + 64));
}
